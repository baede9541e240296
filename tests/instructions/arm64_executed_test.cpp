// arm64_executed_test.cpp: instructions that calls execute in kernels for Arm, counted by a plugin
// of qemu, against committed figures.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "figures.h"

namespace fovea::test {
namespace {

namespace fs = std::filesystem;

// Blocks of rows and keys that are full, and a few that are not; an emulator is slow.
constexpr int rows = 200;

struct CountedKernel {
  std::string library, name;
};

std::vector<CountedKernel> counted_kernels() {
  std::vector<CountedKernel> kernels;
  const std::pair<const char*, const char*> libraries[] = {
      {"fovea_arm64_counted_prefill", FOVEA_TEST_PREFILL_OBJECTS},
      {"fovea_arm64_counted_decode", FOVEA_TEST_DECODE_OBJECTS}};
  for (const auto& [library, folder] : libraries) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() == ".o" && name.rfind("fovea_append", 0) != 0)
        kernels.push_back({library, name});
    }
  }
  return kernels;
}

// What a command prints; "failed: …" as well if it fails.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "failed: " + command;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, n);
  if (const int status = pclose(pipe); !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return "failed: " + command + "\n" + text;
  return text;
}

void measure(Figures* measured) {
  const std::vector<CountedKernel> kernels = counted_kernels();
  std::vector<std::string> outputs(kernels.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < kernels.size();) {
      const auto& [library, name] = kernels[i];
      outputs[i] = output_of(fmt::format(
          "'{}' -cpu max -L /usr/aarch64-linux-gnu -plugin 'file={},prefix={}__{}' '{}' {} {}",
          FOVEA_TEST_QEMU, FOVEA_TEST_PLUGIN, library, name, FOVEA_TEST_RUN_KERNEL, name, rows));
    }
  };
  std::thread second(work);
  work();
  second.join();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string label = "counted: ";
    const size_t at = outputs[i].find(label);
    ASSERT_EQ(outputs[i].find("failed"), std::string::npos) << outputs[i];
    ASSERT_NE(at, std::string::npos) << outputs[i];
    const int64_t count = std::atoll(outputs[i].c_str() + at + label.size());
    ASSERT_GT(count, 0) << outputs[i];
    (*measured)[{kernels[i].name, "executed_instructions"}] = count;
  }
}

TEST(Arm64Executed, IsAsCommitted) {
  Figures measured;
  ASSERT_NO_FATAL_FAILURE(measure(&measured));
  ASSERT_FALSE(measured.empty());
  expect_committed(measured, FOVEA_TEST_FIGURES,
                   [](const std::string&, const std::string&) { return false; });
}

}  // namespace
}  // namespace fovea::test
