// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(changed, v) {
  v.summary("each token sees the last 16 tokens");
  v.keep([](Position p) { return p.k <= p.q && p.q - p.k < 16; });
}
