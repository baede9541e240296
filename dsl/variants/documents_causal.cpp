// documents_causal.cpp: several documents packed one after the other, causal.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// One interval of keys for each query, [start, q]: where keys begin and end is known without
// comparing any document numbers.
FOVEA_VARIANT(documents_causal, v) {
  auto start = v.table<int>("start", {axis::batch, axis::query});
  start.describe("first position of the document that a query position belongs to")
      .example(example::document_start(4));
  v.summary("packed rows: each token sees the tokens of its own document up to itself");
  v.source(
      "Krell et al. 2021, Efficient Sequence Packing, arXiv:2107.02027; FlashAttention's "
      "cu_seqlens");
  v.family("packed");
  v.note(
      "start of position p is cu_seqlens[d], d the document of p; documents lie one after the "
      "other");
  v.keep(masks::keys_between([=](const Position& p) { return start(p.batch, p.q); },
                             [](const Position& p) { return p.q + 1; }));
  v.returns(lse);
}
