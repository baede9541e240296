// time_again.h: the entries of a tuning file, timed beside the default once more.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_TIME_AGAIN_H
#define FOVEA_GENERATORS_TUNER_TIME_AGAIN_H

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

#include "generators/tuner/kernel_trials.h"

namespace fovea {

struct EntryShape {
  std::string shape;
  double default_s = 0, tuned_s = 0;  // medians
  double ratio = 0;                   // median of the pairs' ratios
};

struct EntryAgain {
  TuningRecord entry;
  std::string usual;   // the default schedule
  std::string cannot;  // why there is nothing else
  std::vector<EntryShape> shapes;
  double speedup = 0;
};

struct TimedBeside {
  std::string cannot;  // why there is nothing else
  std::vector<EntryShape> shapes;
  double speedup = 0;  // geometric mean over the shapes
};

// A schedule in turn with another one, with Effort::Final. options.choice is set here.
TimedBeside time_beside(const KernelSpec& spec, const std::vector<Variant>& declared,
                        const std::string& schedule, const std::string& usual,
                        const std::vector<ExampleShape>& shapes, const std::string& settings,
                        int threads, TrialOptions options);

// The entry's kernel in turn with that of the default, with Effort::Final; an entry that is the
// default itself is not timed. The kernels' target must run here.
EntryAgain time_again(const TuningRecord& entry, const std::vector<Variant>& declared,
                      TrialOptions options);

// The parameters of a schedule that are not those of another, or "the default".
std::string schedule_difference(const std::string& schedule, const std::string& usual);

// A table of Markdown, a row for each shape, and what they come to.
std::string again_markdown(const std::vector<EntryAgain>& all);

}  // namespace fovea

#endif
