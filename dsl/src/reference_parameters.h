// reference_parameters.h: the parameters of a call as the interpreter wants them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_REFERENCE_PARAMETERS_H
#define FOVEA_DSL_SRC_REFERENCE_PARAMETERS_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/reference.h>

namespace fovea::detail {

// Scalars as variables, tables behind the callbacks. `values` must outlive the environment. Throws
// std::invalid_argument: a parameter without a value, a table without entries.
template <typename Real>
Environment<Real> bind_parameters(const Variant& variant, const ParameterValues& values);

extern template Environment<double> bind_parameters(const Variant&, const ParameterValues&);
extern template Environment<float> bind_parameters(const Variant&, const ParameterValues&);

}  // namespace fovea::detail

#endif
