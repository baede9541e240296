// global_window.cpp: a sliding window plus the first tokens (Longformer's causal form,
// StreamingLLM). SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(global_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto global = v.scalar<int>("global").at_least(0);
  v.summary("the last `window` tokens and the first `global` ones: Longformer, StreamingLLM");
  v.keep(masks::causal() & (masks::last_tokens(window) | masks::first_tokens(global)));
  v.returns(lse);
}
