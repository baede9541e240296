// gpt4_style.cpp: a decoder with grouped queries.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gpt4_style, v) {
  v.summary("a large decoder in general: causal, any number of KV heads");
  v.source(
      "OpenAI 2023, GPT-4 Technical Report, arXiv:2303.08774, which says Transformer-style and no "
      "more");
  v.family("model");
  v.note("how GPT-4 itself attends is not published; what all decoders share");
  v.keep(masks::causal());
  v.returns(lse);
}
