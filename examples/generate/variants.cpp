// The attention of the model, declared once; the build derives the kernels from it.
//
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Rotary positions, causal; with a window, the last tokens and the first few, which Xiao et al.
// 2023 (arXiv:2309.17453) found a model cannot do without.
FOVEA_VARIANT(rotary, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto sinks = v.scalar<int>("sinks").at_least(0);
  window.describe("keys that a query sees, its own position counted").example(256);
  sinks.describe("keys at the beginning that every query sees").example(4);
  v.summary("rotary positions in halves; the last `window` tokens and the first `sinks` ones");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.keep(masks::causal() & (masks::last_tokens(window) | masks::first_tokens(sinks)));
}
