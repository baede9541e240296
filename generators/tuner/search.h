// search.h: which schedules are tried next.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_SEARCH_H
#define FOVEA_GENERATORS_TUNER_SEARCH_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "generators/database/tuning_record.h"
#include "generators/tuner/schedule_space.h"

namespace fovea {

struct Proposal {
  SpacePoint point;
  Effort effort = Effort::Screen;
};

struct SearchOptions {
  uint64_t seed = 1;
  int starts = 24;  // of successive halving, beside the default
};

// Decides by nothing but what it has been told and its seed: a search that begins anew and is told
// the same goes the same way, which is how an interrupted one continues.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  // What to try next, in any order; each is told with learn() before next() is asked again. Empty:
  // the search has ended.
  virtual std::vector<Proposal> next() = 0;
  // The factor over the documented default; 0: it cannot be used.
  virtual void learn(const Proposal& tried, double speedup) = 0;
  // How many more are expected, about.
  virtual size_t expected() const = 0;
};

// Names: "halving" (successive halving over random starts and the default, then one parameter at a
// time from the best), "random", "exhaustive".
const std::vector<std::string>& strategy_names();
// Throws std::invalid_argument for another name. The space must outlive it.
std::unique_ptr<SearchStrategy> make_strategy(const std::string& name, const ScheduleSpace& space,
                                              const SearchOptions& options);

}  // namespace fovea

#endif
