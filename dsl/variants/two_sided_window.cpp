// two_sided_window.cpp: a window on both sides (encoders).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(two_sided_window, v) {
  auto left = v.scalar<int>("left").at_least(0);
  auto right = v.scalar<int>("right").at_least(0);
  left.describe("keys before the query's position that it sees").example(256);
  right.describe("keys after the query's position that it sees").example(256);
  v.summary("each token sees `left` tokens before and `right` tokens after it");
  v.source(
      "FlashAttention's window_size=(left, right); ModernBERT, Warner et al. 2024, "
      "arXiv:2412.13663");
  v.family("window");
  v.note("both extents are inclusive and do not count the token itself");
  v.keep(masks::window(left, right));
  v.returns(lse);
}
