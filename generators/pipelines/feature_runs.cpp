// feature_runs.cpp: runs of all groups, then the next run of all groups.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/feature_runs.h"

namespace fovea {
namespace {

using Halide::Expr;

bool has_one_run(const AttentionTiling& t) {
  return t.feature_run == 0 || t.feature_run == t.feature_group;
}

// Features from a run of a group to its next one.
int stride_of_runs(const AttentionTiling& t) { return t.d_v / t.feature_group * t.feature_run; }

}  // namespace

Expr feature_at(const AttentionTiling& t, const Expr& place) {
  if (has_one_run(t)) return place;
  const int run = t.feature_run;
  const Expr slot = place % t.feature_group, group = place / t.feature_group;
  return slot / run * stride_of_runs(t) + group * run + slot % run;
}

FeaturePlace place_of(const AttentionTiling& t, const Expr& feature) {
  if (has_one_run(t)) return {feature % t.feature_group, feature / t.feature_group};
  const int run = t.feature_run, stride = stride_of_runs(t);
  return {feature / stride * run + feature % run, feature % stride / run};
}

}  // namespace fovea
