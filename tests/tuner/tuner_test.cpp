// tuner_test.cpp: records of a search, its budget, and how it goes on after an interruption; with
// kernels whose times a formula gives.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/tuner.h"

#include <fmt/format.h>
#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "generators/database/tuning_file.h"
#include "generators/emit/files.h"
#include "sample_record.h"
#include "scratch_folder.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

const ScheduleSpace& space() {
  static const ScheduleSpace s =
      schedule_space({"prefill", "plain", "f32", 8, 8, "x86-sse41"}, Variant("plain"));
  return s;
}

// Seconds of a call by the parameters; some schedules fail, each in its own way.
class FakeKernels : public TrialRunner {
 public:
  void build(const std::vector<std::string>&) override {}
  void forget(const std::string&) override {}

  TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                    Effort effort) override {
    EXPECT_TRUE(!fails_ || status_of(incumbent) == TrialStatus::Ok) << incumbent;
    // What is faster than the fastest so far is timed beside the default as well.
    const std::pair now(schedule, effort);
    if (effort != Effort::Final && (timed.empty() || timed.back() != now)) timed.push_back(now);
    TrialOutcome o;
    o.status = fails_ ? status_of(schedule) : TrialStatus::Ok;
    o.error_bound = 1;
    if (o.status != TrialStatus::Ok) {
      o.reason = fmt::format("on purpose: {}", status_name(o.status));
      return o;
    }
    const double own = seconds(schedule), rival = seconds(incumbent);
    o.timings = {{"b=1", {own}, {rival}}};
    o.ratio = o.least_ratio = rival / own * flattery;
    if (effort != Effort::Final && o.ratio < 0.8) o.status = TrialStatus::Slower;
    return o;
  }

  static TrialStatus status_of(const std::string& schedule) {
    constexpr TrialStatus failures[] = {TrialStatus::Compile, TrialStatus::Crash,
                                        TrialStatus::Timeout, TrialStatus::Memory,
                                        TrialStatus::Wrong};
    const uint64_t hash = hash_bytes(schedule) >> 20;
    const bool is_default = schedule == text_of(space().schedule(space().usual()));
    return is_default || hash % 3 != 0 ? TrialStatus::Ok : failures[hash / 3 % 5];
  }
  static double seconds(const std::string& schedule) {
    const SpacePoint p = space().point_of(PrefillCpuSchedule().with(schedule));
    double x = 1;
    for (size_t i = 0; i < p.size(); ++i) x += 0.1 * std::fabs(std::log2(1.0 + p[i]) - 2);
    return x;
  }
  void never_fails() { fails_ = false; }

  double flattery = 1;  // by which every comparison is wrong
  std::vector<std::pair<std::string, Effort>> timed;

 private:
  bool fails_ = true;
};

class Tuner : public ::testing::Test {
 protected:
  TuneRequest request() {
    TuneRequest r;
    r.base = sample_record();
    r.base.schedule = r.base.incumbent = "";
    r.base.timings.clear();
    r.file = file();
    r.search = {5, 20};
    return r;
  }
  std::filesystem::path file() const { return folder_.path() / "db.jsonl"; }
  std::vector<TuningRecord> records() const {
    std::vector<TuningRecord> all;
    for (const StoredRecord& s : read_tuning_file(file()).records) all.push_back(s.record);
    return all;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(Tuner, EveryCandidateIsALineWithItsOutcome) {
  FakeKernels kernels;
  const TuneResult result = tune(space(), kernels, request());
  ASSERT_TRUE(result.winner);
  const std::vector<TuningRecord> all = records();
  // Then come those of the final, the winner's last.
  ASSERT_GT(all.size(), kernels.timed.size());
  ASSERT_LE(all.size(), kernels.timed.size() + 3);
  for (size_t i = kernels.timed.size(); i < all.size(); ++i) {
    EXPECT_EQ(all[i].effort, Effort::Final);
    EXPECT_EQ(all[i].status, i + 1 == all.size() ? TrialStatus::Ok : TrialStatus::Slower);
  }
  EXPECT_EQ(all.back().schedule, result.winner->schedule);
  EXPECT_EQ(all.back().effort, Effort::Final);
  std::set<TrialStatus> statuses;
  for (size_t i = 0; i < kernels.timed.size(); ++i) {
    const TuningRecord& r = all[i];
    EXPECT_EQ(r.schedule, kernels.timed[i].first);
    EXPECT_EQ(r.effort, kernels.timed[i].second);
    EXPECT_EQ(r.kernel, request().base.kernel);
    const TrialStatus expected = FakeKernels::status_of(r.schedule);
    statuses.insert(r.status);
    if (expected == TrialStatus::Ok) {
      EXPECT_EQ(r.timings.size(), 1u);
      EXPECT_GT(r.speedup, 0);
    } else {
      EXPECT_EQ(r.status, expected);
      EXPECT_EQ(r.reason, fmt::format("on purpose: {}", status_name(expected)));
      EXPECT_EQ(r.speedup, 0);
    }
  }
  EXPECT_GE(statuses.size(), 4u);
}

TEST_F(Tuner, ErrorsOfComparisonsDoNotMultiply) {
  FakeKernels kernels;
  kernels.flattery = 1.03;
  TuneRequest r = request();
  const std::string usual = text_of(space().schedule(space().usual()));
  size_t steps = 0;
  std::string before = usual;
  r.tried = [&](const TuneState& state, const TuningRecord&) {
    if (state.best_schedule != before) before = state.best_schedule, ++steps;
    const double ratio = FakeKernels::seconds(usual) / FakeKernels::seconds(state.best_schedule);
    EXPECT_LE(state.best, ratio * kernels.flattery * (1 + 1e-9)) << state.best_schedule;
  };
  tune(space(), kernels, r);
  EXPECT_GE(steps, 3U);
}

TEST_F(Tuner, TheWinnerRunsAndIsAsMuchFasterAsItIs) {
  FakeKernels kernels;
  const TuneResult result = tune(space(), kernels, request());
  ASSERT_TRUE(result.winner);
  const TuningRecord& w = *result.winner;
  EXPECT_EQ(FakeKernels::status_of(w.schedule), TrialStatus::Ok);
  EXPECT_EQ(w.effort, Effort::Final);
  const std::string usual = text_of(space().schedule(space().usual()));
  EXPECT_EQ(w.incumbent, usual);
  EXPECT_NEAR(w.speedup, FakeKernels::seconds(usual) / FakeKernels::seconds(w.schedule), 1e-9);
  for (const TuningRecord& r : records()) {
    if (r.status != TrialStatus::Ok || r.effort == Effort::Final) continue;
    if (r.effort == Effort::Compare) {
      EXPECT_GE(FakeKernels::seconds(r.schedule), FakeKernels::seconds(w.schedule) * (1 - 1e-9));
    }
    // Whatever it was compared with, the factor is that over the default.
    EXPECT_NEAR(r.speedup, FakeKernels::seconds(usual) / FakeKernels::seconds(r.schedule), 1e-4);
  }
}

TEST_F(Tuner, AnInterruptedSearchGoesOnAndRepeatsNothing) {
  FakeKernels whole;
  TuneRequest r = request();
  const std::filesystem::path other = file().parent_path() / "whole.jsonl";
  r.file = other;
  const TuneResult expected = tune(space(), whole, r);
  ASSERT_TRUE(expected.winner);

  r.file = file();
  std::vector<std::pair<std::string, Effort>> timed;
  bool finished = false;
  size_t rounds = 0;
  // Every run is interrupted after its third candidate.
  while (!finished) {
    ASSERT_LT(++rounds, 200u);
    FakeKernels kernels;
    r.interrupted = [&] { return kernels.timed.size() >= 3; };
    const TuneResult result = tune(space(), kernels, r);
    EXPECT_NE(result.interrupted, result.winner.has_value());
    timed.insert(timed.end(), kernels.timed.begin(), kernels.timed.end());
    finished = !result.interrupted;
    if (finished) {
      EXPECT_EQ(result.winner->schedule, expected.winner->schedule);
      EXPECT_EQ(result.state.done, expected.state.done);
      EXPECT_EQ(result.state.resumed + kernels.timed.size(), result.state.done);
    }
  }
  EXPECT_GT(rounds, 5u);
  EXPECT_EQ(timed, whole.timed);
}

TEST_F(Tuner, OfAKilledProcessOnlyTheUnfinishedLineIsTriedAgain) {
  FakeKernels first, second;
  TuneRequest r = request();
  r.budget.candidates = 12;
  tune(space(), first, r);
  // The last candidate's line half written, those of the final not begun.
  const std::vector<TuningRecord> all = records();
  std::ofstream out(file(), std::ios::trunc);
  for (size_t i = 0; i < 11; ++i) out << record_line(all[i]) << '\n';
  out << record_line(all[11]).substr(0, 100);
  out.close();
  const TuneResult result = tune(space(), second, r);
  ASSERT_EQ(second.timed.size(), 1u);
  EXPECT_EQ(second.timed[0], first.timed.back());
  EXPECT_EQ(result.state.resumed, 11u);
}

TEST_F(Tuner, ASearchThatHasEndedIsReadBack) {
  FakeKernels first, second;
  TuneRequest r = request();
  const TuneResult once = tune(space(), first, r);
  const size_t lines = records().size();
  const TuneResult again = tune(space(), second, r);
  EXPECT_TRUE(second.timed.empty());
  EXPECT_EQ(again.winner->schedule, once.winner->schedule);
  EXPECT_EQ(records().size(), lines);
}

TEST_F(Tuner, LinesOfAnotherEnvironmentOrWorkloadAreNotTakenForItsOwn) {
  FakeKernels first, second, third;
  TuneRequest r = request();
  r.budget.candidates = 6;
  tune(space(), first, r);
  r.base.environment.compiler = "another";
  EXPECT_EQ(tune(space(), second, r).state.resumed, 0u);
  r.base.workload.threads = 2;
  EXPECT_EQ(tune(space(), third, r).state.resumed, 0u);
}

TEST_F(Tuner, BudgetsEndASearchWithAWinner) {
  FakeKernels kernels;
  TuneRequest r = request();
  r.budget.candidates = 9;
  size_t told = 0;
  r.tried = [&](const TuneState& state, const TuningRecord&) {
    ++told;
    EXPECT_LE(state.done, 9u);
    EXPECT_GE(state.best, 1);
  };
  const TuneResult result = tune(space(), kernels, r);
  EXPECT_EQ(result.state.done, 9u);
  EXPECT_EQ(kernels.timed.size(), 9u);
  EXPECT_GE(told, 9u);
  EXPECT_TRUE(result.winner);
  TuneRequest no_time = request();
  no_time.file += ".second";
  no_time.budget.seconds = 1e-9;
  EXPECT_TRUE(tune(space(), kernels, no_time).winner);
}

TEST_F(Tuner, WithNothingFasterTheDefaultWins) {
  struct Slow : FakeKernels {
    TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                      Effort effort) override {
      TrialOutcome o = FakeKernels::time(schedule, incumbent, effort);
      const bool usual = schedule == text_of(space().schedule(space().usual()));
      o.ratio = o.least_ratio = usual ? 1 : 0.9;
      return o;
    }
  } kernels;
  kernels.never_fails();
  TuneRequest r = request();
  r.budget.candidates = 30;
  const TuneResult result = tune(space(), kernels, r);
  EXPECT_EQ(result.winner->schedule, text_of(space().schedule(space().usual())));
  EXPECT_EQ(result.winner->speedup, 1);
}

TEST_F(Tuner, AWinnerThatLosesInOneShapeIsNone) {
  struct Uneven : FakeKernels {
    TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                      Effort effort) override {
      TrialOutcome o = FakeKernels::time(schedule, incumbent, effort);
      if (effort == Effort::Final && schedule != incumbent) o.least_ratio = 0.9;
      return o;
    }
  } kernels;
  kernels.never_fails();
  TuneRequest r = request();
  r.budget.candidates = 40;
  EXPECT_EQ(tune(space(), kernels, r).winner->schedule, text_of(space().schedule(space().usual())));
}

TEST_F(Tuner, ADefaultThatDoesNotRunIsAnError) {
  struct Broken : FakeKernels {
    TrialOutcome time(const std::string&, const std::string&, Effort) override {
      TrialOutcome o;
      o.status = TrialStatus::Crash, o.reason = "signal 11";
      return o;
    }
  } kernels;
  try {
    tune(space(), kernels, request());
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not run: crash: signal 11"));
  }
}

TEST(Duration, IsANumberWithAUnit) {
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("20m"), 1200);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  for (const char* bad : {"", "m", "-3s", "0", "5 m", "5d", "nan"})
    EXPECT_THROW(parse_duration(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace fovea
