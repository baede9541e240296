// global_window.cpp: a sliding window plus the first tokens (StreamingLLM, Longformer's causal
// form). SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(global_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto global = v.scalar<int>("global").at_least(0);
  window.describe("keys that a query sees, its own position counted").example(1024);
  global.describe("keys at the beginning that every query sees").example(64);
  v.summary("the last `window` tokens and the first `global` ones: Longformer, StreamingLLM");
  v.source("Beltagy et al. 2020, Longformer, arXiv:2004.05150, section 3.1, in causal form");
  v.family("sparse");
  v.note("Longformer's global tokens may lie anywhere and see everything: variant longformer");
  v.keep(masks::causal() & (masks::last_tokens(window) | masks::first_tokens(global)));
  v.returns(lse);
}
