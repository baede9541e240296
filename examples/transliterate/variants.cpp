// The attention of a translation model, declared once; the build derives the kernels from it.
//
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Every hypothesis about a name looks at every character of that name; the padding behind it does
// not exist. Where it looked is an output: the heat map.
FOVEA_VARIANT(source_attention, v) {
  auto length = v.table<int>("length", {axis::batch});
  v.summary("cross-attention: rows of the target ask, `length` rows of the source answer");
  v.keep([=](Position p) { return p.k < length(p.batch); });
  v.returns(probabilities);
}
