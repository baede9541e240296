// dilated_window.cpp: every step-th token of a window.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(dilated_window, v) {
  auto reach = v.scalar<int>("reach").at_least(0);
  auto step = v.scalar<int>("step").at_least(1);
  reach.describe("greatest distance of a visible key").example(512);
  step.describe("distance between visible keys").example(2);
  v.summary("each token sees every step-th token up to `reach` away on either side");
  v.source("Beltagy et al. 2020, Longformer, arXiv:2004.05150, section 3.1");
  v.family("window");
  v.note("the causal form is masks::dilated(reach, step) & masks::causal()");
  v.note("Longformer gives reach as window * step, and another step to each head");
  v.keep(masks::dilated(reach, step));
  v.returns(lse);
}
