// evaluate.h: an interpreter for the Halide expressions of a declaration. No code is generated or
// run. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_EVALUATE_H
#define FOVEA_DSL_EVALUATE_H

#include <fovea/dsl/position.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fovea {

// One value per lane: reals for float expressions, integers for int, uint and bool ones (0 or 1). A
// vector of size 1 stands for all lanes.
template <typename Real>
struct Lanes {
  bool is_real = false;
  std::vector<Real> reals;
  std::vector<int64_t> integers;

  static Lanes real(Real value) { return {true, {value}, {}}; }
  static Lanes integer(int64_t value) { return {false, {}, {value}}; }
};

// Values of the free variables and tables of an expression, for `lanes` evaluations at once.
template <typename Real>
struct Environment {
  size_t lanes = 1;
  std::map<std::string, Lanes<Real>> variables;
  // Entry of a table (name without prefix) at already evaluated indices; called once per lane, must
  // clamp.
  std::function<double(const std::string& table, const std::vector<int64_t>& indices)> table;
  // Entries of a table along an axis.
  std::function<int64_t(const std::string& table, int64_t axis)> extent;
  // The row that row calls (row.h) read, one for all lanes; empty: there is none.
  std::vector<Real> row;
};

// Float operations are done in Real (double: the reference; float: a plain evaluation),
// integer ones with the wrap-around of their type; division and remainder as Halide defines them
// (Euclidean, x / 0 = 0). An integer becomes the nearest float of the type it is cast to, also in
// double: a hash compared as a float32 takes the same side here as in a kernel. Throws
// std::invalid_argument naming an operation or a variable it does not know.
template <typename Real>
Lanes<Real> evaluate(const Expr& e, const Environment<Real>& environment);

extern template Lanes<double> evaluate(const Expr&, const Environment<double>&);
extern template Lanes<float> evaluate(const Expr&, const Environment<float>&);

}  // namespace fovea

#endif
