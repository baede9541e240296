// database_views.h: what is asked of tuning files beside a kernel's schedule.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DATABASE_DATABASE_VIEWS_H
#define FOVEA_GENERATORS_DATABASE_DATABASE_VIEWS_H

#include <string>
#include <vector>

#include "generators/database/tuning_file.h"

namespace fovea {

// Of what a record is: kernel, declaration, target, workload and CPU family. Two records of one key
// answer the same question.
std::string record_key(const TuningRecord& record);

// The records that builds may take: of each key the one timed with Effort::Final that was the most
// over the default, of equal ones the last. In the order of their keys.
std::vector<TuningRecord> winners(const std::vector<TuningRecord>& records);

// Winners, and what was tried in searches that have no winner yet: these can still be resumed.
std::vector<TuningRecord> pruned(const std::vector<TuningRecord>& records);

// Winners without the single samples, of which only the medians' place is kept: to be committed.
std::vector<TuningRecord> exported(const std::vector<TuningRecord>& records);

struct WinnerChange {
  std::string key;
  const TuningRecord* before = nullptr;  // nullptr: there was none
  const TuningRecord* after = nullptr;   // nullptr: there is none
};
// Keys whose winners have different schedules, or only one of them a winner. Both must be
// winners().
std::vector<WinnerChange> changes(const std::vector<TuningRecord>& before,
                                  const std::vector<TuningRecord>& after);

}  // namespace fovea

#endif
