// The attention of BERT-like encoders, declared once; the build derives the kernels from it.
//
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Every token of a sentence sees every token of that sentence; the padding behind it does not
// exist.
FOVEA_VARIANT(padded_self_attention, v) {
  auto length = v.table<int>("length", {axis::batch});
  v.summary("BERT: bidirectional, each sequence of the padded batch has its own length");
  v.keep([=](Position p) { return p.k < length(p.batch); });
}
