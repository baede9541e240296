// variant_text.h: what a variant computes, in the order in which it computes it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_VARIANT_TEXT_H
#define FOVEA_GENERATORS_DESCRIBE_VARIANT_TEXT_H

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

namespace fovea {

struct Step {
  std::string part;  // one word: "query", "score", "mask", …
  std::string text;  // "score = softcap * tanh(score / softcap)"
  bool declared;     // false: plain attention has this step too
};

// From the row transforms to the extra outputs. In the lines, query, key, value and out are rows,
// score and w the numbers of one pair.
std::vector<Step> variant_steps(const Variant& variant);

// Only what the variant declares: what its formula is besides softmax(scale q k^T) v. Empty for
// plain attention.
std::vector<std::string> formula_lines(const Variant& variant);

// "float > 0", "int >= 1", "float [head, position]", "bool [row, key]".
std::string parameter_text(const Parameter& parameter);
// The parts of it: "float"; "> 0" or empty; "[head, position]" or empty.
std::string type_text(const Parameter& parameter);
std::string range_text(const Parameter& scalar);
std::string axes_text(const Parameter& table);
// A bound as its author wrote it: 0.1, not the double nearest to the float.
std::string bound_text(const Parameter& scalar, double bound);

}  // namespace fovea

#endif
