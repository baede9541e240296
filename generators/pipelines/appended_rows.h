// appended_rows.h: new keys or values on their way into a cache, as named Halide Funcs: through the
// variant's transforms, and into few bits.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_APPENDED_ROWS_H
#define FOVEA_GENERATORS_PIPELINES_APPENDED_ROWS_H

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

#include "generators/pipelines/cache_kind.h"
#include "generators/pipelines/row_chain.h"

namespace fovea {

// Rows at `points`, which every Func has behind its feature or group.
struct NewRows {
  std::vector<Halide::Expr> transforms;
  BindDeclaration binder;
  // Features, then points; of a grid 16-bit elements are integers.
  std::function<Halide::Expr(std::vector<Halide::Expr>)> load;
  std::vector<Halide::Var> points;
  int size = 0;  // features
  Element element = Element::F32;
  CacheKind cache = CacheKind::Same;
  bool grid = false;
  Halide::Expr group_shift, has_scales;  // of a quantised cache
};

struct AppendedRows {
  int size = 0;    // features
  RowChain steps;  // (d, points): through the variant's transforms
  // Of a quantised cache: the bits of the largest magnitude of a group, its scale in f32, and what
  // is stored for each number (four bits of Int4 are still apart).
  Halide::Func largest, scale, quantised;  // (group, points), (group, points), (d, points)
  Halide::RDom features;
  Halide::Func stored;        // (d, points), of Int4 (byte, points); for the caller to define
  Halide::Func stored_scale;  // (group, points), f16; undefined unless quantised
};

AppendedRows make_appended_rows(const std::string& name, const NewRows& rows);

// What is stored at an element (in Int4 a byte) or a group, then points.
Halide::Expr stored_element(AppendedRows& appended, const NewRows& rows,
                            const std::vector<Halide::Expr>& at);
Halide::Expr stored_scale(AppendedRows& appended, const NewRows& rows,
                          const std::vector<Halide::Expr>& at);

// Groups that a row can have at most.
int most_groups(int size);

}  // namespace fovea

#endif
