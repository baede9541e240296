// bound_parameters.h: the expressions of a variant under given values of its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_BOUND_PARAMETERS_H
#define FOVEA_GENERATORS_DESCRIBE_BOUND_PARAMETERS_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/reference.h>
#include <fovea/dsl/variant.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

// The tables of `values` must outlive it.
class BoundParameters {
 public:
  // Throws std::invalid_argument naming a parameter without a value.
  BoundParameters(const Variant& variant, const ParameterValues& values);

  // For the position variables, beside the parameters.
  void set(const std::string& variable, int64_t value);
  void set(const std::string& variable, std::vector<int64_t> values);

  // One integer (or truth value) for each of `lanes` evaluations. Throws std::invalid_argument
  // naming what has no value here.
  std::vector<int64_t> integers(const Expr& e, size_t lanes);
  std::vector<double> reals(const Expr& e, size_t lanes);

 private:
  Environment<double> environment_;
};

}  // namespace fovea

#endif
