// instructions_test.cpp: a gate against slower kernels that needs no clock.
//
// x86-sse41 and x86-avx2: instructions that a call executes in the kernel, counted by callgrind.
// All targets: what the hot loops in the object file consist of; valgrind knows no AVX-512, and
// counters of the CPU are often missing in virtual machines.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/registry.h>
#include <fovea_decode_instruction_kernels.h>
#include <fovea_instruction_kernels.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "figures.h"
#include "generators/inspect/hot_loops.h"

namespace fovea::test {
namespace {

constexpr int cannot_run = 77;

struct Output {
  std::string text;
  int status;
};

Output output_of(const std::string& command) {
  Output output = {"", -1};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char part[1 << 16];
  for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) output.text.append(part, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) output.status = WEXITSTATUS(status);
  return output;
}

struct CountedKernel {
  const fovea_library_info* library;
  const fovea_kernel_info* kernel;
  std::string objects;  // folder

  std::string name() const { return kernel->name; }
};

// All that compute attention.
std::vector<CountedKernel> counted_kernels() {
  std::vector<CountedKernel> kernels;
  const std::pair<const fovea_library_info*, const char*> libraries[] = {
      {fovea_instruction_kernels_library(), FOVEA_TEST_OBJECTS},
      {fovea_decode_instruction_kernels_library(), FOVEA_TEST_DECODE_OBJECTS}};
  for (const auto& [library, objects] : libraries) {
    for (int32_t i = 0; i < library->kernel_count; ++i) {
      if (library->kernels[i].pass != FOVEA_APPEND)
        kernels.push_back({library, &library->kernels[i], objects});
    }
  }
  return kernels;
}

void measure_hot_loops(Figures* measured) {
  for (const CountedKernel& counted : counted_kernels()) {
    const std::string kernel = counted.name();
    const Output disassembly = output_of(fmt::format("'{}' -d --no-show-raw-insn '{}/{}.o'",
                                                     FOVEA_TEST_OBJDUMP, counted.objects, kernel));
    ASSERT_EQ(disassembly.status, 0) << disassembly.text;
    const HotLoops loops = hot_loops(disassembly.text);
    ASSERT_GT(loops.multiply_adds, 0) << kernel;
    (*measured)[{kernel, "hot_loop_instructions"}] = loops.instructions;
    (*measured)[{kernel, "hot_loop_multiply_adds"}] = loops.multiply_adds;
    (*measured)[{kernel, "spills"}] = loops.spills;
    (*measured)[{kernel, "masked_multiply_adds"}] = loops.masked_multiply_adds;
  }
}

// Valgrind is slow on what SSE4.1 makes of 16-bit numbers, and AVX2 shows the same.
bool is_counted(const CountedKernel& k) {
  const std::string target = k.library->targets[k.kernel->target].name;
  return target == "x86-avx2" || (target == "x86-sse41" && k.kernel->dtype == FOVEA_F32);
}

// `unmeasured` gets the kernels that cannot run on this machine.
void measure_executed(Figures* measured, std::string* unmeasured) {
  std::vector<std::string> kernels, patterns;
  for (const CountedKernel& k : counted_kernels()) {
    if (!is_counted(k)) continue;
    kernels.push_back(k.name());
    // Of decode all functions.
    patterns.push_back(fmt::format("{}__{}*_argv", k.library->name, k.name()));
  }
  std::vector<Output> outputs(kernels.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < kernels.size();) {
      outputs[i] = output_of(
          fmt::format("'{}' --tool=callgrind --callgrind-out-file=/dev/null "
                      "'--toggle-collect={}' '{}' {}",
                      FOVEA_TEST_VALGRIND, patterns[i], FOVEA_TEST_RUN_KERNEL, kernels[i]));
    }
  };
  std::thread second(work);
  work();
  second.join();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string& text = outputs[i].text;
    if (outputs[i].status == cannot_run) {
      *unmeasured += kernels[i] + " cannot run here\n";
      continue;
    }
    ASSERT_EQ(outputs[i].status, 0) << text;
    const std::string label = "Collected : ";
    const size_t at = text.find(label);
    ASSERT_NE(at, std::string::npos) << text;
    const int64_t count = std::atoll(text.c_str() + at + label.size());
    ASSERT_GT(count, 0) << text;
    (*measured)[{kernels[i], "executed_instructions"}] = count;
  }
}

// The file has figures of both tests, and those that this machine cannot measure stay; a kernel
// that is no more has none.
void expect_figures_committed(const Figures& measured, const std::set<std::string>& figures) {
  std::set<std::string> kernels;
  for (const CountedKernel& k : counted_kernels()) kernels.insert(k.name());
  expect_committed(measured, FOVEA_TEST_FIGURES,
                   [&](const std::string& kernel, const std::string& figure) {
                     return figures.count(figure) == 0 || kernels.count(kernel) != 0;
                   });
}

TEST(Instructions, HotLoopsAreAsCommitted) {
  if (std::string(FOVEA_TEST_OBJDUMP).empty()) GTEST_SKIP() << "llvm-objdump is missing";
  Figures measured;
  measure_hot_loops(&measured);
  expect_figures_committed(measured, {"hot_loop_instructions", "hot_loop_multiply_adds", "spills",
                                      "masked_multiply_adds"});
}

TEST(Instructions, ExecutedAsCommitted) {
  if (std::string(FOVEA_TEST_VALGRIND).empty())
    GTEST_SKIP() << "valgrind is missing, or the build has a sanitizer, which valgrind cannot run";
  Figures measured;
  std::string unmeasured;
  measure_executed(&measured, &unmeasured);
  expect_figures_committed(measured, {"executed_instructions"});
  if (!unmeasured.empty()) GTEST_SKIP() << unmeasured;
}

}  // namespace
}  // namespace fovea::test
