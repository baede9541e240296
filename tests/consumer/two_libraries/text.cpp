// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(causal, v) {
  v.summary("each token sees itself and what came before");
  v.keep(masks::causal());
}
