// dense_tables.h: entries of tables that belong to one pair of a query row and a key.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_DENSE_TABLES_H
#define FOVEA_GENERATORS_PIPELINES_DENSE_TABLES_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

namespace fovea {

// A mask or a bias as a tensor has its keys next to each other in memory, while the lanes of a tile
// are rows: read where it is used, every vector is a gather. Such entries are fetched for a block
// of keys at a time instead, and turned in squares.
struct DenseTable {
  std::string symbol;  // stands for the entry of (q, k) in what is left
  Halide::Expr entry;  // a declaration's call of the table
  int parameter = 0;   // which of the variant's
  int key_axis = 0;    // of the table
};

class SeparateDenseTables : public Halide::Internal::IRMutator {
 public:
  explicit SeparateDenseTables(const Variant& variant) : variant_(variant) {}

  // Of all expressions so far, each once.
  std::vector<DenseTable> tables;

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Call* op) override;

  const Variant& variant_;
};

}  // namespace fovea

#endif
