// parameter_types.cpp: compiles as it stands; refused with SCALAR_TYPE or TABLE_TYPE of another
// type. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#ifndef SCALAR_TYPE
#define SCALAR_TYPE float
#endif
#ifndef TABLE_TYPE
#define TABLE_TYPE int
#endif

using namespace fovea;

FOVEA_VARIANT(sample, v) {
  auto cap = v.scalar<SCALAR_TYPE>("cap");
  auto bias = v.table<TABLE_TYPE>("bias", {axis::head});
  v.score([=](Expr s, Position p) { return s / cap + cast<float>(bias(p.head)); });
}
