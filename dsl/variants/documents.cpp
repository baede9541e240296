// documents.cpp: several documents packed into one row, in both directions.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(documents, v) {
  auto document = v.table<int>("document", {axis::batch, axis::position});
  document.describe("number of the document that a token belongs to").example(example::document(4));
  v.summary("packed rows: each token sees the tokens of its own document");
  v.source("Krell et al. 2021, Efficient Sequence Packing, arXiv:2107.02027");
  v.family("packed");
  v.note(
      "documents may lie interleaved; for documents one after the other, in causal order, see "
      "documents_causal");
  v.note("padding is a document of its own");
  v.keep(masks::documents(document));
  v.returns(lse);
}
