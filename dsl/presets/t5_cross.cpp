// t5_cross.cpp: T5, from the decoder to the encoder.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(t5_cross, v) {
  auto length = v.table<int>("length", {axis::batch});
  length.describe("valid tokens of each sequence").example(example::length());
  v.summary("T5 cross-attention: no bias, padding of the encoder");
  v.source("Raffel et al. 2020, T5, arXiv:1910.10683");
  v.family("model");
  v.note("T5 does not scale its scores: call.scale = 1");
  v.keep(masks::padding([=](const Position& p) { return length(p.batch); }));
  v.returns(lse);
}
