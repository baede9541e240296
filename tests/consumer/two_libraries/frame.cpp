// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(causal, v) {
  v.summary("each token sees its frame of 8 tokens and the frames before");
  v.keep([](Position p) { return p.k / 8 <= p.q / 8; });
}
