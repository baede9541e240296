// bert.cpp: BERT.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(bert, v) {
  auto length = v.table<int>("length", {axis::batch});
  length.describe("valid tokens of each sequence").example(example::length());
  v.summary("BERT: all tokens of a padded batch, in both directions");
  v.source("Devlin et al. 2018, BERT, arXiv:1810.04805");
  v.family("model");
  v.note("positions are learned embeddings outside of the attention");
  v.keep(masks::padding([=](const Position& p) { return length(p.batch); }));
  v.returns(lse);
}
