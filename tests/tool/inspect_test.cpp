// inspect_test.cpp: `inspect` on kernels of known code. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output_of.h"

namespace fovea {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// Haswell does two multiply-adds of 32 bytes a cycle, on two ports.
TEST(Inspect, AKernelIsCompiledForIt) {
  const Json root =
      Json::parse(stdout_of({"inspect", "--variant", "full", "--target", "x86-avx2", "--shape",
                             "d=32", "--cpu", "haswell", "--assembly", "--json"}));
  ASSERT_EQ(root.at("kernels").size(), 1u);
  const Json& k = root.at("kernels")[0];
  EXPECT_EQ(k.at("name"), "fovea_prefill__full__f32__d32__x86_avx2");
  EXPECT_EQ(k.at("target"), "x86-avx2");
  EXPECT_EQ(k.at("vector_bytes"), 32);
  EXPECT_GT(k.at("code_bytes"), 1000);
  EXPECT_THAT(k.at("schedule").get<std::string>(), HasSubstr("row_vectors="));
  EXPECT_GT(k.at("hot_loops"), 0);
  ASSERT_FALSE(k.at("loops").empty());
  for (const Json& loop : k.at("loops")) {
    const double multiply_adds = loop.at("multiply_adds");
    EXPECT_GE(loop.at("cycles").get<double>(), multiply_adds / 2 - 1e-9);
    EXPECT_LE(loop.at("flops_per_cycle").get<double>(), 32.0 + 1e-9);
    EXPECT_EQ(loop.at("cpu"), "haswell");
    EXPECT_FALSE(loop.at("bottleneck").get<std::string>().empty());
    EXPECT_EQ(loop.at("assembly").size(), loop.at("instructions").get<size_t>());
  }
}

TEST(Inspect, WhatEmitWroteAsFolderAndAsObject) {
  const ScratchFolder folder;
  const std::string out = folder.path().string();
  stdout_of({"emit", "--library", "small", "--variant", "causal", "--target", "x86-sse41",
             "--head-dim", "8", "--pass", "prefill,decode", "--out", out});
  const Json root = Json::parse(stdout_of({"inspect", out, "--json", "--cpu", "nehalem"}));
  ASSERT_EQ(root.at("kernels").size(), 2u);
  EXPECT_EQ(root.at("kernels")[0].at("name"), "fovea_decode__causal__f32__d8__x86_sse41");
  EXPECT_EQ(root.at("kernels")[0].at("vector_bytes"), 16);
  // All kernels linked into one object are told apart again, a decode kernel with all its parts.
  const Json linked =
      Json::parse(stdout_of({"inspect", out + "/small_kernels.o", "--json", "--cpu", "nehalem"}));
  ASSERT_EQ(linked.at("kernels").size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(linked.at("kernels")[i].at("name"), root.at("kernels")[i].at("name"));
    EXPECT_EQ(linked.at("kernels")[i].at("hot_loops"), root.at("kernels")[i].at("hot_loops"));
    EXPECT_EQ(linked.at("kernels")[i].at("spills"), root.at("kernels")[i].at("spills"));
  }
  EXPECT_THAT(stdout_of({"inspect", out, "--cpu", "nehalem"}),
              AllOf(HasSubstr("4 lanes of f32"), HasSubstr("cycles (nehalem)")));
}

TEST(Inspect, WithoutLlvmItSaysWhatToInstall) {
  const ProgramRun run = run_command({"/usr/bin/env", "PATH=/nonexistent", FOVEA_TEST_PROGRAM,
                                      "inspect", "--variant", "full", "--shape", "d=8"});
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("llvm-nm-19 is not on PATH"), HasSubstr("llvm-19-tools")));
}

TEST(Inspect, Refusals) {
  const auto refusal = [](std::vector<std::string> more) {
    more.insert(more.begin(), "inspect");
    const ProgramRun run = run_fovea(more);
    EXPECT_EQ(run.how, "exit status 2") << run.output;
    return run.output;
  };
  EXPECT_THAT(refusal({}), HasSubstr("either --variant or a file or folder"));
  EXPECT_THAT(refusal({"/no/such/file.o"}), HasSubstr("'/no/such/file.o' is not there"));
  const ScratchFolder folder;
  EXPECT_THAT(refusal({folder.path().string()}), HasSubstr("holds no kernels/*.o"));
  // An object, but none of ours.
  write_if_changed(folder.path() / "empty.c", "int nothing;\n");
  const std::string object = (folder.path() / "empty.o").string();
  ASSERT_EQ(run_command({"cc", "-c", (folder.path() / "empty.c").string(), "-o", object}).how,
            "exit status 0");
  const ProgramRun foreign = run_fovea({"inspect", object});
  EXPECT_EQ(foreign.how, "exit status 1");
  EXPECT_THAT(foreign.output, HasSubstr("holds no kernel of fovea"));
}

}  // namespace
}  // namespace fovea
