// explain_test.cpp: `explain` for CPUs that are recorded. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output_of.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

Json explained(std::vector<std::string> more) {
  std::vector<std::string> all = {"explain", "--variant", "causal", "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return Json::parse(stdout_of(all));
}

std::string answer_about(const Json& root, const std::string& kernel) {
  for (const Json& other : root.at("others")) {
    if (other.at("name") == kernel) return other.at("answer");
  }
  return "";
}

TEST(Explain, RecordedCpusChooseTheirTargets) {
  struct Row {
    const char *cpu, *dtype, *target;
  };
  for (const Row& row :
       {Row{"nehalem", "f32", "x86-sse41"}, Row{"haswell", "f32", "x86-avx2"},
        Row{"skylake-x", "bf16", "x86-avx512"}, Row{"zen-4", "f32", "x86-avx512"},
        Row{"zen-4", "bf16", "x86-avx512-bf16-amd"}, Row{"emerald-rapids", "bf16", "x86-avx512"}}) {
    const Json root = explained({"--cpu", row.cpu, "--dtype", row.dtype});
    EXPECT_EQ(root.at("chosen").at("target"), row.target) << row.cpu;
  }
}

TEST(Explain, EveryOtherKernelHasItsReason) {
  const Json root = explained({"--cpu", "haswell", "--shape", "sq=100,skv=100,d=64"});
  const Json& chosen = root.at("chosen");
  EXPECT_EQ(chosen.at("name"), "fovea_prefill__causal__f32__d64__x86_avx2");
  EXPECT_EQ(chosen.at("why_pass"), "more than 16 query rows");
  EXPECT_THAT(chosen.at("why_target").get<std::string>(), HasSubstr("largest preference, 20"));
  EXPECT_THAT(chosen.at("schedule").get<std::string>(), HasSubstr("row_vectors="));
  EXPECT_FALSE(chosen.at("schedule_from").get<std::string>().empty());
  EXPECT_EQ(answer_about(root, "fovea_prefill__causal__f32__d64__x86_sse41"),
            "usable, but x86-avx2 has the larger preference");
  EXPECT_THAT(answer_about(root, "fovea_prefill__causal__f32__d64__x86_avx512"),
              StartsWith("refused, CPU lacks avx512f"));
  EXPECT_EQ(answer_about(root, "fovea_decode__causal__f32__d64__x86_avx2"),
            "refused, computes pass decode, not prefill");
}

TEST(Explain, ThePassFollowsTheShapeOrIsForced) {
  const Json few = explained({"--cpu", "haswell", "--shape", "sq=16,skv=100,d=64"});
  EXPECT_EQ(few.at("chosen").at("pass"), "decode");
  EXPECT_EQ(few.at("chosen").at("why_pass"), "at most 16 query rows");
  const Json forced =
      explained({"--cpu", "haswell", "--shape", "sq=16,skv=100,d=64", "--pass", "prefill"});
  EXPECT_EQ(forced.at("chosen").at("pass"), "prefill");
}

TEST(Explain, ALibraryHasWhatItWasBuiltWith) {
  const ScratchFolder folder;
  const std::string out = folder.path().string();
  stdout_of({"emit", "--library", "small", "--variant", "causal", "--target", "x86-sse41",
             "--head-dim", "8", "--pass", "prefill", "--out", out});
  const std::string shape = "sq=4,skv=4,d=8";
  const Json root = explained({"--library", out, "--cpu", "zen-4", "--shape", shape});
  EXPECT_EQ(root.at("chosen").at("name"), "fovea_prefill__causal__f32__d8__x86_sse41");
  EXPECT_EQ(root.at("chosen").at("why_pass"), "no decode kernel can be used");
  const ProgramRun refused =
      run_fovea({"explain", "causal", "--library", out, "--shape", "d=64", "--cpu", "zen-4"});
  EXPECT_EQ(refused.how, "exit status 1");
  EXPECT_THAT(refused.output, HasSubstr("refused, has head dims 8/8, not 64/64:\n  fovea_prefill"));
  EXPECT_THAT(refused.output, HasSubstr("head dims not built"));
  const ProgramRun unknown = run_fovea({"explain", "casual", "--library", out});
  EXPECT_EQ(unknown.how, "exit status 2");
  EXPECT_THAT(unknown.output, HasSubstr("did you mean 'causal'?"));
}

TEST(Explain, ForcedTargets) {
  const Json root = explained({"--cpu", "zen-4", "--target", "x86-avx2"});
  EXPECT_EQ(root.at("chosen").at("why_target"), "--target forces x86-avx2");
  EXPECT_THAT(answer_about(root, "fovea_prefill__causal__f32__d64__x86_avx512"),
              HasSubstr("not the target that --target forces"));
  EXPECT_EQ(run_fovea({"explain", "causal", "--cpu", "haswell", "--target", "x86-avx512"}).how,
            "exit status 1");
  const ProgramRun unknown = run_fovea({"explain", "causal", "--cpu", "haswel"});
  EXPECT_EQ(unknown.how, "exit status 2");
  EXPECT_THAT(unknown.output, HasSubstr("did you mean 'haswell'?"));
}

TEST(Explain, TheTextNamesTheChoiceFirst) {
  EXPECT_THAT(stdout_of({"explain", "causal", "--cpu", "haswell"}),
              StartsWith("chosen: fovea_prefill__causal__f32__d64__x86_avx2\n  target"));
}

}  // namespace
}  // namespace fovea
