// tuner.h: the search for the fastest schedule of one kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_TUNER_H
#define FOVEA_GENERATORS_TUNER_TUNER_H

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "generators/database/tuning_record.h"
#include "generators/tuner/schedule_space.h"
#include "generators/tuner/search.h"
#include "generators/tuner/trial_runner.h"

namespace fovea {

struct Budget {
  double seconds = 0;     // of this run; 0: no limit
  size_t candidates = 0;  // of the whole search, those of earlier runs included; 0: no limit
};

// "90", "90s", "20m", "1.5h". Throws std::invalid_argument.
double parse_duration(const std::string& text);

// What a search has come to so far.
struct TuneState {
  size_t done = 0, resumed = 0;  // candidates; those of earlier runs
  size_t expected = 0;           // more to come, about
  std::map<TrialStatus, size_t> invalid;
  double best = 1;  // over the default
  std::string best_schedule;
  double seconds = 0;              // of this run
  std::optional<double> left_s{};  // until the budget or the search ends, about
};

struct TuneRequest {
  TuningRecord base;  // what all records of the search have in common
  std::filesystem::path file;
  std::string strategy = "halving";
  SearchOptions search;
  Budget budget;
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const TuneState&, const TuningRecord&)> tried = [](const auto&, const auto&) {
  };
};

struct TuneResult {
  TuneState state;
  bool interrupted = false;
  std::optional<TuningRecord> winner;  // timed with Effort::Final; none when interrupted
};

// Every candidate that has been tried is a line of the file before the next one is. Candidates
// whose lines are there already, from the same environment, are taken from them: an interrupted
// search goes on where it was. Ends with the best few against the default, and the winner's line.
// Throws std::runtime_error: the file cannot be written, or the default itself does not run.
TuneResult tune(const ScheduleSpace& space, TrialRunner& runner, const TuneRequest& request);

}  // namespace fovea

#endif
