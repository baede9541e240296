// llvm_tools.cpp: their command lines and what they answer.
// SPDX-License-Identifier: Apache-2.0
#include "generators/inspect/llvm_tools.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "generators/emit/child_process.h"
#include "generators/emit/files.h"
#include "generators/inspect/temporary_folder.h"

namespace fovea {
namespace {

// Iterations that a cost is the mean of: what happens at the ends is then small.
constexpr int iterations = 200;
// A unit that is busy for less of the time is not what a loop waits for.
constexpr double always_busy = 0.9;

std::string output_of(std::vector<std::string> command) {
  if (!find_on_path(command[0])) {
    throw std::runtime_error(
        fmt::format("{} is not on PATH: install the Debian packages llvm-19 and llvm-19-tools "
                    "(scripts/setup.sh does)",
                    command[0]));
  }
  const TemporaryFolder folder("fovea-inspect");
  const std::filesystem::path log = folder.path() / "output";
  run_program(command, log);
  return read_file(log);
}

// An instruction as the assembler takes it: without the comments of the disassembler.
std::string assembly_of(const Instruction& i) {
  std::string operands = i.operands.substr(0, i.operands.find(" <"));
  operands = operands.substr(0, operands.find("# "));  // "#16" is a number of Arm
  operands = operands.substr(0, operands.find(" //"));
  return fmt::format("\t{} {}\n", i.mnemonic, operands);
}

// "Zn4FP45.\1" are units of one kind with a number after the dot.
std::string printable(std::string name) {
  std::string out;
  for (const char c : name) {
    if (std::isprint(static_cast<unsigned char>(c)))
      out += c;
    else
      out += std::to_string(static_cast<int>(c));
  }
  return out;
}

LoopCost cost_of(const nlohmann::json& region, const nlohmann::json& cpu) {
  LoopCost cost;
  cost.cpu = cpu.at("CPUName").get<std::string>();
  const nlohmann::json& resources = cpu.at("Resources");
  const nlohmann::json& summary = region.at("SummaryView");
  cost.cycles = summary.at("TotalCycles").get<double>() / summary.at("Iterations").get<double>();
  // The row after the last instruction holds the sums of an iteration.
  const size_t sums = region.at("Instructions").size();
  for (const nlohmann::json& use : region.at("ResourcePressureView").at("ResourcePressureInfo")) {
    if (use.at("InstructionIndex").get<size_t>() != sums) continue;
    const double busy = use.at("ResourceUsage").get<double>();
    if (busy <= cost.busy_cycles) continue;
    cost.busy_cycles = busy;
    cost.bottleneck =
        printable(resources.at(use.at("ResourceIndex").get<size_t>()).get<std::string>());
  }
  if (cost.busy_cycles < always_busy * cost.cycles) {
    // A front end that is too narrow is a bottleneck of its own.
    const double width = summary.at("DispatchWidth").get<double>();
    const double dispatched =
        summary.at("TotaluOps").get<double>() / summary.at("Iterations").get<double>() / width;
    cost.bottleneck = dispatched >= always_busy * cost.cycles ? "dispatch" : "latency";
    cost.busy_cycles = dispatched >= always_busy * cost.cycles ? dispatched : 0;
  }
  return cost;
}

}  // namespace

std::optional<std::filesystem::path> find_on_path(const std::string& program) {
  const auto is_program = [](const std::filesystem::path& file) {
    return access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file);
  };
  if (program.find('/') != std::string::npos)
    return is_program(program) ? std::optional<std::filesystem::path>(program) : std::nullopt;
  const char* path = getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / program;
    if (is_program(file)) return file;
  }
  return std::nullopt;
}

std::string disassembly_of(const std::filesystem::path& object) {
  return output_of({objdump_program, "-d", "-r", "--no-show-raw-insn", object.string()});
}

std::map<std::string, uint64_t> code_sizes(const std::filesystem::path& object) {
  std::istringstream lines(output_of({nm_program, "-S", "--defined-only", object.string()}));
  std::map<std::string, uint64_t> sizes;
  for (std::string line; std::getline(lines, line);) {
    // address size type name
    std::istringstream words(line);
    std::string address, size, type, name;
    if (words >> address >> size >> type >> name && (type == "T" || type == "t"))
      sizes[name] = std::strtoull(size.c_str(), nullptr, 16);
  }
  return sizes;
}

std::vector<LoopCost> loop_costs(const std::vector<const Loop*>& loops,
                                 const std::string& architecture, const std::string& cpu) {
  if (loops.empty()) return {};
  const TemporaryFolder folder("fovea-inspect");
  const std::filesystem::path source = folder.path() / "loops.s", answer = folder.path() / "answer";
  std::string text;
  const bool arm = architecture == "arm64";
  for (size_t i = 0; i < loops.size(); ++i) {
    text += fmt::format("# LLVM-MCA-BEGIN {}\n", i);
    for (const Instruction& instruction : loops[i]->body) text += assembly_of(instruction);
    text += "# LLVM-MCA-END\n";
  }
  write_if_changed(source, text);
  try {
    output_of({mca_program, arm ? "-mtriple=aarch64-linux-gnu" : "-mtriple=x86_64-linux-gnu",
               "-mcpu=" + cpu, fmt::format("-iterations={}", iterations), "-json", "-o",
               answer.string(), source.string()});
  } catch (const std::runtime_error& error) {
    if (!find_on_path(mca_program)) throw;
    const std::string complaint = error.what();
    const size_t begin = std::min(complaint.find("error: "), complaint.size());
    return std::vector<LoopCost>(
        loops.size(),
        {"", 0, "", 0,
         "llvm-mca says " + complaint.substr(begin, complaint.find('\n', begin) - begin)});
  }
  const nlohmann::json root = nlohmann::json::parse(read_file(answer));
  std::vector<LoopCost> costs(loops.size(), {"", 0, "", 0, "llvm-mca says nothing of it"});
  for (const nlohmann::json& region : root.at("CodeRegions")) {
    const size_t index = std::stoul(region.at("Name").get<std::string>());
    costs.at(index) = cost_of(region, root.at("TargetInfo"));
  }
  return costs;
}

}  // namespace fovea
