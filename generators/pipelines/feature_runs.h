// feature_runs.h: which features of the output a group of them has (AttentionTiling::feature_run).
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_FEATURE_RUNS_H
#define FOVEA_GENERATORS_PIPELINES_FEATURE_RUNS_H

#include <Halide.h>

#include "generators/pipelines/attention_tiling.h"

namespace fovea {

// Places count the slots of the first group, then those of the second and so on.
Halide::Expr feature_at(const AttentionTiling& tiling, const Halide::Expr& place);

struct FeaturePlace {
  Halide::Expr slot, group;
};
FeaturePlace place_of(const AttentionTiling& tiling, const Halide::Expr& feature);

}  // namespace fovea

#endif
