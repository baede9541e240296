// dsl.h: everything an author of attention variants includes.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_H
#define FOVEA_DSL_H

#include <fovea/dsl/example_entries.h>
#include <fovea/dsl/masks.h>
#include <fovea/dsl/normalizer.h>
#include <fovea/dsl/parameter.h>
#include <fovea/dsl/position.h>
#include <fovea/dsl/positions.h>
#include <fovea/dsl/register.h>
#include <fovea/dsl/relative_bias.h>
#include <fovea/dsl/rope.h>
#include <fovea/dsl/row.h>
#include <fovea/dsl/row_norm.h>
#include <fovea/dsl/uniform.h>
#include <fovea/dsl/variant.h>

namespace fovea {
// The Halide vocabulary a declaration needs; operators and functions of an Expr are found without
// it.
using Halide::abs;
using Halide::cast;
using Halide::ceil;
using Halide::clamp;
using Halide::cos;
using Halide::exp;
using Halide::floor;
using Halide::log;
using Halide::max;
using Halide::min;
using Halide::pow;
using Halide::select;
using Halide::sin;
using Halide::sqrt;
using Halide::tanh;
}  // namespace fovea

#endif
