// causal_window.cpp: the last `window` tokens (Mistral).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(causal_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  window.describe("keys that a query sees, its own position counted").example(1024);
  v.summary("each token sees the last `window` tokens, itself included: Mistral");
  v.source("Jiang et al. 2023, Mistral 7B, arXiv:2310.06825, section 2");
  v.family("window");
  v.note("window counts the token itself: FlashAttention's window_size=(window-1, 0)");
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
