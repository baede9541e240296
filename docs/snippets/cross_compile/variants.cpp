// variants.cpp: a declaration of the project's own. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(recent, v) {
  auto window = v.scalar<int>("window").at_least(1);
  v.summary("each token sees the last `window` tokens");
  v.keep([=](Position p) { return p.k <= p.q && p.q - p.k < window; });
}
