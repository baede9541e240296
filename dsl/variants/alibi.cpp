// alibi.cpp: linear distance penalties on both sides.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(alibi, v) {
  auto slope = v.table<float>("slope", {axis::head});
  slope.describe("penalty per token of distance").example(example::alibi_slope());
  v.summary("a penalty of slope[head] per token of distance, to both sides: ALiBi for encoders");
  v.source(
      "Press et al. 2022, arXiv:2108.12409; the symmetric form of the authors' code and "
      "FlashAttention");
  v.family("position");
  v.note(
      "FlexAttention's example adds slope * (k - q) without the magnitude, which rewards keys "
      "after the query");
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(abs(p.q - p.k)); });
  v.returns(lse);
}
