// row.h: one row of q, k, v or the output, as a row transform sees it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_ROW_H
#define FOVEA_DSL_ROW_H

#include <fovea/dsl/position.h>

#include <functional>
#include <string>

namespace fovea {

// All entries and reductions are Float(32), whatever type the row is stored in.
class Row {
 public:
  // The entry of a feature; the index is clamped into the row.
  Expr operator()(Expr feature) const;
  // Number of features, Int(32).
  Expr size() const;

  // Reductions over all features j of the row. term(j) may read the row, tables and the position.
  Expr sum(const std::function<Expr(Expr j)>& term) const;
  Expr largest(const std::function<Expr(Expr j)>& term) const;
  Expr mean_square() const;  // sum of squares / size

  // variant and field name the declaration in errors.
  Row(std::string variant, std::string field)
      : variant_(std::move(variant)), field_(std::move(field)) {}

 private:
  Expr reduce_(const char* name, const std::function<Expr(Expr)>& term) const;
  std::string variant_, field_;
};

// transform(row, d, p): Float(32), the new entry of feature d of the row at p.
using RowTransform = std::function<Expr(const Row& row, Expr d, const Position& p)>;

// How these appear inside a declaration: pure calls, the reductions with a term over the variable
// row_index.
namespace row_calls {
inline constexpr const char* prefix = "row.";
inline constexpr const char* entry = "row.entry";      // (feature)
inline constexpr const char* size = "row.size";        // ()
inline constexpr const char* sum = "row.sum";          // (term)
inline constexpr const char* largest = "row.largest";  // (term)
inline constexpr const char* index = "row.index";      // the variable
}  // namespace row_calls

}  // namespace fovea

#endif
