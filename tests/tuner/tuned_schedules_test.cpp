// tuned_schedules_test.cpp: which entry a build takes, and what it says of those it does not.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuned_schedules.h"

#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program_run.h"
#include "sample_record.h"

namespace fovea {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TunedFiles : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::vector<TuningRecord>& records) {
    const std::filesystem::path file = folder_.path() / name;
    for (const TuningRecord& r : records) append_record(file, r);
    return file;
  }
  // What is planned for the sample's kernel: the schedule for calls of every shape.
  static PlannedKernel planned(const std::vector<std::filesystem::path>& files,
                               const std::string& changes = "", Variant v = Variant("plain")) {
    return all_planned(files, changes, std::move(v)).back();
  }
  static std::vector<PlannedKernel> all_planned(const std::vector<std::filesystem::path>& files,
                                                const std::string& changes = "",
                                                Variant v = Variant("plain")) {
    const KernelSpec spec = sample_spec();
    LibraryRequest request = {"lib", {}, {spec.target}, {"f32"}, {"64"}, {"prefill"}};
    request.schedule = changes;
    for (const auto& file : files) request.tuned.push_back(file.string());
    const LibraryPlan plan = plan_library(request, {std::move(v)});
    notes = plan.notes;
    return plan.kernels;
  }
  static std::vector<std::string> notes;

 private:
  ScratchFolder folder_;
};
std::vector<std::string> TunedFiles::notes;

TEST_F(TunedFiles, WithoutAnEntryTheDefaultIsTaken) {
  TuningRecord other = sample_record();
  other.kernel = "fovea_prefill__plain__f32__d128__x86_avx2";
  const PlannedKernel k = planned({write("a.jsonl", {other})});
  EXPECT_EQ(k.schedule_from, "default");
  EXPECT_EQ(text_of(k.schedule), sample_record().incumbent);
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(TunedFiles, TheEntryThatWasTheMostOverTheDefaultIsTaken) {
  const auto file =
      write("a.jsonl", {sample_record("key_tile=2", 1.05), sample_record("key_tile=8", 1.2),
                        sample_record("key_tile=1", 1.1)});
  const PlannedKernel k = planned({file});
  EXPECT_EQ(text_of(k.schedule), sample_record("key_tile=8").schedule);
  EXPECT_EQ(k.schedule_from, "a.jsonl:2, amd-zen4, 1.200 x the default");
}

TEST_F(TunedFiles, WhatWasTunedForLongCallsAloneComesAfterWhatWasTunedForAll) {
  TuningRecord narrow = sample_record("key_tile=8", 1.4);
  narrow.workload.name = "long";
  EXPECT_THAT(planned({write("a.jsonl", {narrow})}).schedule_from, HasSubstr("a.jsonl:1"));
  const auto file = write("b.jsonl", {narrow, sample_record("key_tile=2", 1.05), narrow});
  EXPECT_THAT(planned({file}).schedule_from, HasSubstr("b.jsonl:2"));
}

TuningRecord short_record(const std::string& schedule, double speedup) {
  TuningRecord r = sample_record(schedule, speedup);
  r.workload.name = "short";
  r.workload.shapes = {"b=1,hq=8,hkv=8,sq=96,skv=96,d=64", "b=1,hq=4,hkv=4,sq=300,skv=400,d=64"};
  r.timings = {{r.workload.shapes[0], {1}, {speedup}}, {r.workload.shapes[1], {1}, {speedup}}};
  return r;
}

TEST_F(TunedFiles, WhatWasTunedForShortCallsServesThoseBesideTheOther) {
  const auto file =
      write("a.jsonl", {short_record("key_tile=8", 1.2), sample_record("key_tile=2", 1.1)});
  const std::vector<PlannedKernel> both = all_planned({file});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(kernel_name(both[0].spec), "fovea_prefill__plain__f32__d64__x86_avx2__q300_k400");
  EXPECT_EQ(both[0].symbol, "lib__" + kernel_name(both[0].spec));
  EXPECT_EQ(text_of(both[0].schedule), sample_record("key_tile=8").schedule);
  EXPECT_THAT(both[0].schedule_from, HasSubstr("a.jsonl:1"));
  EXPECT_EQ(kernel_name(both[1].spec), "fovea_prefill__plain__f32__d64__x86_avx2");
  EXPECT_EQ(text_of(both[1].schedule), sample_record("key_tile=2").schedule);
  EXPECT_THAT(notes, IsEmpty());
  // Without an entry for all calls it stands beside the default.
  const std::vector<PlannedKernel> alone =
      all_planned({write("b.jsonl", {short_record("key_tile=8", 1.2)})});
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_EQ(alone[1].schedule_from, "default");
}

TEST_F(TunedFiles, ASecondScheduleHasToPay) {
  EXPECT_EQ(all_planned({write("a.jsonl", {short_record("key_tile=8", 1.04)})}).size(), 1U);
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("a.jsonl:1: not used: in short calls 1.040 x"),
                                       HasSubstr("1.05 x is asked"))));
  // What counts is what serves those calls else: here by 1.2 / 1.15 in the one shape that both were
  // timed with, and 1.2 / 1.1 in the other.
  TuningRecord general = sample_record("key_tile=2", 1.1);
  general.timings = {{"b=1,hq=8,hkv=8,sq=96,skv=96,d=64", {1, 1, 9}, {1.15, 1.15, 1.15}}};
  const auto file = write("b.jsonl", {short_record("key_tile=8", 1.2), general});
  EXPECT_EQ(all_planned({file}).size(), 2U);
  general.timings[0].incumbent_seconds = {1.3, 1.3, 1.3};
  EXPECT_EQ(all_planned({write("c.jsonl", {short_record("key_tile=8", 1.2), general})}).size(), 1U);
  // The same schedule twice is one kernel.
  general = sample_record("key_tile=8", 1.1);
  EXPECT_EQ(all_planned({write("d.jsonl", {short_record("key_tile=8", 1.3), general})}).size(), 1U);
}

TEST_F(TunedFiles, ALaterFileAddsNoScheduleToWhatAnEarlierOneHolds) {
  const auto own = write("own.jsonl", {sample_record("key_tile=2", 1.05)});
  const auto shipped = write("shipped.jsonl", {short_record("key_tile=8", 1.3)});
  EXPECT_EQ(all_planned({own, shipped}).size(), 1U);
  const std::vector<PlannedKernel> both = all_planned({shipped, own});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_THAT(both[1].schedule_from, HasSubstr("own.jsonl:1"));
}

TEST_F(TunedFiles, OfDecodeKeysAloneDecide) {
  TuningRecord r = short_record("", 1.3);
  KernelSpec spec = sample_spec();
  spec.pass = "decode";
  r.kernel = kernel_name(spec);
  r.schedule = "any";
  const auto choices = TunedSchedules({write("a.jsonl", {r})}).find(spec, Variant("plain"), notes);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].most_rows, 0);
  EXPECT_EQ(choices[0].most_keys, 400);
}

TEST_F(TunedFiles, AnEarlierFileWinsOverALaterOne) {
  const auto own = write("own.jsonl", {sample_record("key_tile=2", 1.05)});
  const auto shipped = write("shipped.jsonl", {sample_record("key_tile=8", 1.2)});
  EXPECT_THAT(planned({own, shipped}).schedule_from, HasSubstr("own.jsonl:1"));
  EXPECT_THAT(planned({shipped, own}).schedule_from, HasSubstr("shipped.jsonl:1"));
}

TEST_F(TunedFiles, WhatWasTimedInPassingOrFailedIsNoEntry) {
  TuningRecord screened = sample_record(), wrong = sample_record();
  screened.effort = Effort::Compare;
  wrong.status = TrialStatus::Wrong;
  EXPECT_EQ(planned({write("a.jsonl", {screened, wrong})}).schedule_from, "default");
}

TEST_F(TunedFiles, AnotherDeclarationOrTargetIsRefusedAndSaid) {
  Variant changed("plain");
  changed.keep(masks::causal());
  TuningRecord target = sample_record();
  target.target += "-avx512";
  const auto file = write("a.jsonl", {sample_record()});
  EXPECT_EQ(planned({file}, "", changed).schedule_from, "default");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("a.jsonl:1: not used: it is of another declaration")));
  EXPECT_EQ(planned({write("b.jsonl", {target})}).schedule_from, "default");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("b.jsonl:1: not used: it is of another target")));
}

TEST_F(TunedFiles, AScheduleThatIsNotAllowedIsRefusedAndSaid) {
  TuningRecord r = sample_record();
  r.schedule = sample_record("key_tile=7").schedule;
  EXPECT_EQ(planned({write("a.jsonl", {r})}).schedule_from, "default");
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("a.jsonl:1"), HasSubstr("key_block"))));
}

TEST_F(TunedFiles, ParametersOnTheCommandLineWinOverAnEntry) {
  const auto file = write("a.jsonl", {sample_record("key_tile=2", 1.05)});
  const PlannedKernel k = planned({file}, "key_unroll=2");
  EXPECT_EQ(text_of(k.schedule), sample_record("key_tile=2,key_unroll=2").schedule);
  EXPECT_THAT(k.schedule_from, HasSubstr("a.jsonl:1"));
  EXPECT_THAT(k.schedule_from, HasSubstr("--schedule key_unroll=2"));
}

TEST_F(TunedFiles, SoftMismatchesAreNamed) {
  const TuningRecord r = sample_record();
  TuningEnvironment now = r.environment;
  EXPECT_EQ(soft_mismatch(r, now), "");
  now.compiler = "another";
  EXPECT_EQ(soft_mismatch(r, now), "");
  now.cpu = "intel-emerald-rapids", now.halide = "22.0.0";
  EXPECT_EQ(soft_mismatch(r, now),
            "cpu amd-zen4, here intel-emerald-rapids; Halide 21.0.0, here 22.0.0");
}

TEST_F(TunedFiles, EmitSaysWhichEntryEveryKernelGotAndSoDoesTheManifest) {
  KernelSpec spec = sample_spec();
  spec.variant = "full", spec.d_qk = spec.d_v = 16;
  TuningRecord r = sample_record("key_tile=2,feature_group=2");
  r.kernel = kernel_name(spec);
  // The hash of the shipped variant, as the command lists it.
  const ProgramRun list = run_fovea({"list", "--json"});
  ASSERT_EQ(list.how, "exit status 0") << list.output;
  const auto listed = nlohmann::ordered_json::parse(list.output);
  for (const auto& v : listed["variants"]) {
    if (v["name"] == "full") r.variant_hash = v["hash"].get<std::string>();
  }
  const auto file = write("a.jsonl", {r});
  const std::filesystem::path out = file.parent_path() / "out";
  const ProgramRun run = run_fovea({"emit", "--library", "small", "--variant", "full", "--target",
                                    spec.target, "--head-dim", "16", "--pass", "prefill", "decode",
                                    "--tuned", file.string(), "--out", out.string()});
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_THAT(run.output, HasSubstr("schedule of " + r.kernel + ": a.jsonl:1, amd-zen4"));
  EXPECT_THAT(run.output, HasSubstr("schedule of fovea_decode__full__f32__d16__x86_avx2: default"));
  const auto manifest = nlohmann::ordered_json::parse(read_file(out / "small.json"));
  EXPECT_EQ(manifest["kernels"][0]["schedule_from"], "a.jsonl:1, amd-zen4, 1.100 x the default");
  EXPECT_THAT(manifest["kernels"][0]["schedule"].get<std::string>(), HasSubstr("key_tile=2"));
  EXPECT_EQ(manifest["kernels"][1]["schedule_from"], "default");
}

}  // namespace
}  // namespace fovea
