// host_independence_test.cpp: a kernel is a function of its declaration, target and generator, not
// of the machine that generates it. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/generators/program_run.h"

namespace fovea {
namespace {

constexpr const char* kernels[] = {"fovea_prefill__causal__f32__d8__x86_avx2",
                                   "fovea_decode__causal__bf16__d8__x86_avx512_bf16_amd"};

// The object of a kernel, made by the command behind these words.
std::string object_of(const std::string& kernel, std::vector<std::string> before) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "kernels");
  for (const char* word : {FOVEA_TEST_PROGRAM, "emit-kernel", "--library", "l", "--identity", "x"})
    before.emplace_back(word);
  before.insert(before.end(), {"--kernel", kernel, "--out", folder.path().string()});
  const ProgramRun run = run_command(before);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  return read_file(folder.path() / "kernels" / (kernel + ".o"));
}

TEST(HostIndependence, AnOlderCpuMakesTheSameBytes) {
  if (std::string(FOVEA_TEST_QEMU).empty()) GTEST_SKIP() << "qemu-x86_64 is not installed";
  const std::string here = object_of(kernels[0], {});
  ASSERT_FALSE(here.empty());
  EXPECT_TRUE(here == object_of(kernels[0], {FOVEA_TEST_QEMU, "-cpu", "Nehalem"}));
}

// What Halide and the C library read from their surroundings.
TEST(HostIndependence, TheEnvironmentMakesNoDifference) {
  for (const char* kernel : kernels) {
    const std::string here = object_of(kernel, {});
    ASSERT_FALSE(here.empty());
    EXPECT_TRUE(here == object_of(kernel, {"env", "HL_TARGET=x86-64-linux-avx512_sapphirerapids",
                                           "HL_JIT_TARGET=arm-64-linux", "HL_NUM_THREADS=1",
                                           "LC_ALL=C", "TZ=Asia/Tokyo", "HOME=/"}))
        << kernel;
    EXPECT_TRUE(here == object_of(kernel, {"env", "-i"})) << kernel;
  }
}

// The whole library: in another folder, with another number of jobs, in another order of targets
// as far as the kernels go.
TEST(HostIndependence, TheWholeLibraryIsTheSame) {
  const ScratchFolder folder;
  const auto emit = [&](const char* to, const char* jobs, std::vector<std::string> before) {
    before.insert(before.end(),
                  {FOVEA_TEST_PROGRAM, "emit", "--library", "l", "--variant", "causal", "--dtype",
                   "f32", "--head-dim", "8", "--target", "x86-avx2", "--target", "x86-sse41",
                   "--jobs", jobs, "--out", (folder.path() / to).string()});
    const ProgramRun run = run_command(before);
    EXPECT_EQ(run.how, "exit status 0") << run.output;
  };
  emit("one", "1", {});
  emit("another/folder", "2", {"env", "HL_TARGET=x86-64-linux-avx512_zen4", "LC_ALL=C"});
  for (const char* file :
       {"l_kernels.o", "l_registry.cpp", "l.json", "include/l.h", "include/l.hpp"}) {
    const std::string one = read_file(folder.path() / "one" / file);
    ASSERT_FALSE(one.empty()) << file;
    EXPECT_TRUE(one == read_file(folder.path() / "another/folder" / file)) << file;
  }
}

}  // namespace
}  // namespace fovea
