// chunked.cpp: chunks of positions that do not see each other (Llama 4).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(chunked, v) {
  auto chunk = v.scalar<int>("chunk").at_least(1);
  chunk.describe("positions of a chunk").example(1024);
  v.summary("causal inside chunks of `chunk` positions: the local layers of Llama 4");
  v.source("Meta 2025, Llama 4 (attention_chunk_size)");
  v.family("window");
  v.note("a chunk begins at a multiple of its length, so the first token of one sees only itself");
  v.keep(masks::chunked(chunk) & masks::causal());
  v.returns(lse);
}
