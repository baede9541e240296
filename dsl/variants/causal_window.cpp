// causal_window.cpp: the last `window` tokens (Mistral).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// `window` counts the current token, as in Mistral 7B (Jiang et al. 2023); FlashAttention's
// window_size=(window-1, 0).
FOVEA_VARIANT(causal_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  v.summary("each token sees the last `window` tokens, itself included: Mistral");
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
