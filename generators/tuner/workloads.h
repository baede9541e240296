// workloads.h: the calls that a kernel is tuned for.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_WORKLOADS_H
#define FOVEA_GENERATORS_TUNER_WORKLOADS_H

#include <fovea/dsl/parameter.h>

#include <string>
#include <vector>

namespace fovea {

// Classes of shapes: "short", "long", and "any" with calls of both.
const std::vector<std::string>& workload_names();

// Short: prompts of a few blocks of rows, or caches that fit the nearer caches of a CPU. As many
// heads as make a call long enough to be timed. Throws std::invalid_argument for another name.
std::vector<ExampleShape> workload_shapes(const std::string& name, const std::string& pass,
                                          int d_qk, int d_v);

}  // namespace fovea

#endif
