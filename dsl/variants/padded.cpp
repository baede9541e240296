// padded.cpp: bidirectional over a padded batch, lengths in a table.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(padded, v) {
  auto length = v.table<int>("length", {axis::batch});
  v.summary("each sequence of a padded batch sees its own first `length[batch]` keys");
  v.keep([=](Position p) { return p.k < length(p.batch); });
  v.returns(lse);
}
