// diagonal_terms.h: parts of an expression that depend on query and key by their distance alone.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_DIAGONAL_TERMS_H
#define FOVEA_GENERATORS_PIPELINES_DIAGONAL_TERMS_H

#include <Halide.h>

#include <string>
#include <vector>

namespace fovea {

// A relative bias, say, is a function of q - k: in a tile of rows and keys it takes as many values
// as the tile has diagonals, not as many as it has elements, and rows that follow each other read
// values that follow each other, where the declaration's own form is a gather.
struct DiagonalTerms {
  struct Term {
    std::string symbol;  // stands for it in `rest`
    Halide::Expr value;  // as a function of diagonal_distance()
  };
  Halide::Expr rest;
  std::vector<Term> terms;
};

// q - k in the value of a term.
Halide::Expr diagonal_distance();

// Takes out every term that costs more than a load; `expression` is one of a declaration.
DiagonalTerms separate_diagonals(const Halide::Expr& expression);

}  // namespace fovea

#endif
