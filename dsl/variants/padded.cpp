// padded.cpp: bidirectional over a padded batch, lengths in a table.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(padded, v) {
  auto length = v.table<int>("length", {axis::batch});
  length.describe("valid keys of each sequence").example(example::length());
  v.summary("each sequence of a padded batch sees its own first `length[batch]` keys");
  v.source("Devlin et al. 2018, BERT, arXiv:1810.04805 (its attention mask)");
  v.family("packed");
  v.note(
      "fovea_call.kv_len does the same for every variant; here the rows past the length are "
      "computed as well");
  v.keep(masks::padding([=](const Position& p) { return length(p.batch); }));
  v.returns(lse);
}
