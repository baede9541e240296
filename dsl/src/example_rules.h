// example_rules.h: example values are values that a caller may pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_EXAMPLE_RULES_H
#define FOVEA_DSL_SRC_EXAMPLE_RULES_H

#include <fovea/dsl/parameter.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::detail {

// The example of a scalar, or of an entry or the free extents of a table, for one shape. Each needs
// the example that it asks for. Throw DeclarationError naming the parameter.
double example_scalar(const std::string& variant, const Parameter& scalar,
                      const ExampleShape& shape);
double example_entry(const std::string& variant, const Parameter& table, const ExampleShape& shape,
                     const std::vector<int64_t>& index);
int64_t example_extent(const std::string& variant, const Parameter& table,
                       const ExampleShape& shape);

// Entries along an axis of a table in a call of this shape; 1 for an axis of kind any without an
// example.
int64_t axis_extent(const std::string& variant, const Parameter& table, const Axis& axis,
                    const ExampleShape& shape);

// All of them for a small shape, tables at their corners.
void check_examples(const std::string& variant, const Parameter& parameter);

}  // namespace fovea::detail

#endif
