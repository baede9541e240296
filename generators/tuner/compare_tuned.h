// compare_tuned.h: what a build with tuning files would hold, timed beside the defaults.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_COMPARE_TUNED_H
#define FOVEA_GENERATORS_TUNER_COMPARE_TUNED_H

#include <fovea/dsl/variant.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "generators/tuner/kernel_trials.h"

namespace fovea {

struct ComparedShape {
  std::string kernel, settings, shape;
  std::string workload;   // class of the shape: "short", "long"
  std::string different;  // parameters that are not as in the default
  std::string cannot;     // why it was not timed
  // Medians; 0 where the schedule is the default, which is as fast as itself.
  double default_s = 0, tuned_s = 0, ratio = 1;
};

// Of each kernel that the files have an entry for, short and long calls, each with the schedule
// that a library would choose for it. `problems` receives what is wrong with the files; begun is
// called with the name of each kernel. The kernels' targets must run here.
std::vector<ComparedShape> compare_tuned(const std::vector<std::filesystem::path>& files,
                                         const std::vector<Variant>& declared,
                                         const TrialOptions& options,
                                         std::vector<std::string>& problems,
                                         const std::function<void(const std::string&)>& begun);

// A table of Markdown, a row for each shape, and what they come to: all, and each class.
std::string compared_markdown(const std::vector<ComparedShape>& rows);

}  // namespace fovea

#endif
