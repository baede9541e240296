// ptx_figures_test.cpp: what ptxas makes of CUDA kernels, against a committed table: registers,
// spills, shared memory, how many blocks of threads a multiprocessor holds, which share of the
// instructions of the two inner loops multiplies and adds, and where threads meet in memory. With
// FOVEA_UPDATE_GOLDEN=1 the table is written. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/devices/ptx_lanes.h"

namespace {

namespace fs = std::filesystem;

// The table belongs to this version: others allocate registers in other ways.
constexpr const char* ptxas_version = "V13.0.88";

constexpr std::array kernels = {"fovea_prefill__full__f32__d64__cuda_sm80",
                                "fovea_prefill__causal__f32__d64__cuda_sm80",
                                "fovea_decode__causal__f32__d64__cuda_sm80",
                                "fovea_decode__causal__f16__d128__cuda_sm80",
                                "fovea_decode__causal__f16__cache_same__d128__cuda_sm80",
                                "fovea_decode__causal__f16__cache_int8__d128__cuda_sm80",
                                "fovea_prefill__causal__f32__cache_same__d64__cuda_sm80",
                                "fovea_prefill__causal__f32__d128__cuda_sm80",
                                "fovea_prefill__causal__f16__d64__cuda_sm80",
                                "fovea_prefill__causal__bf16__d64__cuda_sm80",
                                "fovea_prefill__documents_causal__f32__d64__cuda_sm80",
                                "fovea_prefill__full__f32__d32__cuda_sm80",
                                "fovea_prefill__rope_half__f32__d64__cuda_sm80",
                                "fovea_prefill__sink_causal__f32__d64__cuda_sm80",
                                "fovea_prefill__softcapped_window__f32__d64__cuda_sm80"};

// Of a multiprocessor: shared memory in KiB, of which each block takes one more.
struct Machine {
  const char* name;
  int shared_kib, registers, warps, blocks;
};
constexpr Machine machines[] = {{"sm_80", 164, 65536, 64, 32}, {"sm_90", 228, 65536, 64, 32}};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string output_of(const std::string& command) {
  const fs::path file = fs::path(testing::TempDir()) / "fovea_ptx_figures.txt";
  if (std::system((command + " >'" + file.string() + "' 2>&1").c_str()) != 0)
    return "failed: " + command + "\n" + read(file);
  return read(file);
}

int number_in(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? std::stoi(match[1]) : -1;
}

bool decodes(const std::string& kernel) { return kernel.rfind("fovea_decode", 0) == 0; }

// Share of FFMA in percent of the first two innermost loops that consist of them, at least so many:
// products and weighted values of blocks that are visible whole.
std::vector<int> ffma_shares(const std::string& disassembly, long least) {
  const std::regex label(R"(^\s*(\.L_x_\d+):)"), instruction(R"(/\*[0-9a-f]{4,}\*/\s+(.*?);)"),
      branch(R"(BRA.*`\((\.L_x_\d+)\))"), ffma(R"((^|\s)FFMA)");
  std::map<std::string, size_t> labels;
  std::vector<std::string> code;
  std::istringstream lines(disassembly);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, label)) {
      labels[match[1]] = code.size();
    } else if (std::regex_search(line, match, instruction)) {
      code.push_back(match[1]);
    }
  }
  std::vector<std::pair<size_t, size_t>> loops;
  for (size_t i = 0; i < code.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(code[i], match, branch)) continue;
    const auto target = labels.find(match[1]);
    if (target != labels.end() && target->second <= i) loops.emplace_back(target->second, i);
  }
  std::sort(loops.begin(), loops.end());
  std::vector<int> shares;
  for (const auto& [first, last] : loops) {
    const bool is_innermost = std::none_of(loops.begin(), loops.end(), [&](const auto& other) {
      return other != std::pair(first, last) && other.first >= first && other.second <= last;
    });
    const auto count =
        std::count_if(code.begin() + static_cast<std::ptrdiff_t>(first),
                      code.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                      [&](const std::string& text) { return std::regex_search(text, ffma); });
    if (is_innermost && count >= least)
      shares.push_back(static_cast<int>(100 * count / static_cast<long>(last - first + 1)));
  }
  shares.resize(std::min<size_t>(shares.size(), 2));
  return shares;
}

std::string row_of(const std::string& kernel, const fs::path& folder, const Machine& machine) {
  const std::string ptx = (folder / "kernels" / (kernel + ".ptx")).string(),
                    cubin = (folder / "kernel.cubin").string();
  const std::string report = output_of(std::string("'") + FOVEA_PTXAS + "' -v --gpu-name " +
                                       machine.name + " '" + ptx + "' -o '" + cubin + "'");
  const std::string facts = read(folder / "kernels" / (kernel + ".json"));
  const int threads = number_in(facts, R"("threads": (\d+))"),
            shared = number_in(facts, R"("shared_bytes": (\d+))"),
            registers = number_in(report, R"(Used (\d+) registers)"),
            spills = number_in(report, R"((\d+) bytes spill stores)");
  if (registers < 0 || threads < 0) return report;
  const int warps = threads / 32, of_warp = (registers * 32 + 255) / 256 * 256;
  const int blocks =
      std::min({machine.shared_kib * 1024 / (shared + 1024), machine.registers / (of_warp * warps),
                machine.blocks, machine.warps / warps});
  const std::vector<int> shares = ffma_shares(
      output_of(std::string("'") + FOVEA_NVDISASM + "' '" + cubin + "'"), decodes(kernel) ? 8 : 24);
  std::ostringstream row;
  row << kernel << ',' << machine.name << ',' << registers << ',' << spills << ',' << shared << ','
      << threads << ',' << blocks << ',' << 100 * blocks * warps / machine.warps;
  for (const int share : shares) row << ',' << share;
  const fovea::test::WarpAccesses worst =
      fovea::test::warp_accesses(read(ptx), decodes(kernel) ? 16 : 8);  // threads along x
  for (const int figure : {worst.products, worst.values, worst.block, worst.tile,
                           worst.sectors_percent, worst.read_bits})
    row << ',' << figure;
  return row.str() + "\n";
}

// Empty, or why not.
std::string emit(const std::string& kernel, const fs::path& folder) {
  fs::create_directories(folder / "kernels");
  const std::string log = output_of(std::string("'") + FOVEA_PROGRAM +
                                    "' emit-kernel --library figures --identity figures "
                                    "--assembly --kernel " +
                                    kernel + " --out '" + folder.string() + "'");
  return log.find("failed") == std::string::npos ? "" : log;
}

// A few of the catalogue, or all of it: FOVEA_TEST_SET.
TEST(Ptx, OfEveryVariantIsAssembledWithoutSpills) {
  if (!fs::exists(FOVEA_PTXAS)) GTEST_SKIP() << "needs ptxas";
  const fs::path folder = fs::path(testing::TempDir()) / "fovea_ptx_of_variants";
  std::istringstream variants(FOVEA_PTX_VARIANTS);
  int assembled = 0;
  for (std::string variant; variants >> variant; ++assembled) {
    const std::string kernel = "fovea_prefill__" + variant + "__f32__d64__cuda_sm80";
    ASSERT_EQ(emit(kernel, folder), "");
    const std::string report =
        output_of(std::string("'") + FOVEA_PTXAS + "' -v --gpu-name sm_80 '" +
                  (folder / "kernels" / (kernel + ".ptx")).string() + "' -o /dev/null");
    EXPECT_EQ(number_in(report, R"((\d+) bytes spill stores)"), 0) << kernel << ": " << report;
  }
  EXPECT_GE(assembled, 2);
  fs::remove_all(folder);
}

TEST(PtxFigures, AreThoseOfTheTable) {
  if (!fs::exists(FOVEA_PTXAS) || !fs::exists(FOVEA_NVDISASM))
    GTEST_SKIP() << "needs ptxas and nvdisasm";
  const std::string version = output_of(std::string("'") + FOVEA_PTXAS + "' --version");
  if (version.find(ptxas_version) == std::string::npos)
    GTEST_SKIP() << "the table is of ptxas " << ptxas_version;
  const fs::path folder = fs::path(testing::TempDir()) / "fovea_ptx_figures";
  std::string table =
      "kernel,gpu,registers,spilled_bytes,shared_bytes,threads,blocks,occupancy_percent,"
      "ffma_percent_products,ffma_percent_values,bank_ways_products,bank_ways_values,"
      "bank_ways_of_block,bank_ways_of_tile,sectors_percent,"
      "read_bits\n";
  for (const char* kernel : kernels) {
    ASSERT_EQ(emit(kernel, folder), "");
    for (const Machine& machine : machines) table += row_of(kernel, folder, machine);
  }
  fs::remove_all(folder);
  if (std::getenv("FOVEA_UPDATE_GOLDEN") != nullptr) std::ofstream(FOVEA_PTX_FIGURES) << table;
  EXPECT_EQ(table, read(FOVEA_PTX_FIGURES)) << "FOVEA_UPDATE_GOLDEN=1 writes the table";
}

constexpr const char* few_accesses = R"(
	mov.u32 	%r1, %tid.x;
	mov.u32 	%r2, %tid.y;
	shl.b32 	%r3, %r2, 3;
	add.s32 	%r4, %r3, %r1;
	mul.wide.s32 	%rd1, %r4, 128;
	ld.shared.b32 	%r5, [%rd1+4];
$L__BB0_1:                              // %"1_for_state.s1.blocks_full$x"
                                        // =>This Loop Header: Depth=1
	mul.wide.s32 	%rd2, %r4, 16;
	ld.shared.v4.b32 	{%r6, %r7, %r8, %r9}, [%rd2];
	mul.wide.s32 	%rd3, %r4, 32;
	ld.global.b32 	%r10, [%rd3];
$L__BB0_2:                              // %"2_for_product_full.s1.features_full$x"
                                        //   Parent Loop BB0_1 Depth=1
                                        // =>  This Inner Loop Header: Depth=2
	mul.wide.s32 	%rd4, %r1, 8;
	ld.shared.b32 	%r11, [%rd4];
	mul.wide.s32 	%rd5, %r1, 32;
$L__BB0_3:                              // %"3_for_weighted_full.s1.value_keys_full$x"
                                        //   Parent Loop BB0_1 Depth=1
                                        // =>  This Inner Loop Header: Depth=2
	ld.shared.v4.b32 	{%r12, %r13, %r14, %r15}, [%rd5];
)";

TEST(WarpAccesses, AreCountedByBanksAndSectors) {
  // Rows of 32 numbers; rows of 4; every other number, each by 4 threads; groups of 8 numbers.
  EXPECT_EQ(fovea::test::warp_accesses(few_accesses, 8),
            (fovea::test::WarpAccesses{.products = 1,
                                       .values = 2,
                                       .block = 1,
                                       .tile = 32,
                                       .sectors_percent = 800,
                                       .read_bits = 32}));
}

// What the table must show, whoever writes it.
TEST(PtxFigures, NoSpillsNoThreadsThatMeetAndMostlyMultiplyAdd) {
  std::istringstream lines(read(FOVEA_PTX_FIGURES));
  std::string line;
  std::getline(lines, line);
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 16u) << line;
    EXPECT_EQ(cells[3], "0") << line;
    EXPECT_LE(std::stoi(cells[4]), 48 * 1024) << line;
    EXPECT_EQ(cells[10], "1") << line;
    EXPECT_EQ(cells[11], "1") << line;
    // Keys of 16 bits meet in pairs where they are stored, but in decode.
    const bool has_pairs = cells[0].find("f16__") != std::string::npos && !decodes(cells[0]);
    EXPECT_LE(std::stoi(cells[12]), has_pairs ? 2 : 1) << line;
    // A table's entries lie at distances that the kernel does not know.
    if (cells[0].find("rope_half") == std::string::npos) {
      EXPECT_EQ(cells[14], "100") << line;
    }
    EXPECT_EQ(cells[15], "128") << line;
    if (decodes(cells[0])) continue;  // bound by memory
    EXPECT_GE(std::stoi(cells[8]), 60) << line;
    EXPECT_GE(std::stoi(cells[9]), 60) << line;
  }
  EXPECT_EQ(rows, static_cast<int>(kernels.size() * std::size(machines)));
}

}  // namespace
