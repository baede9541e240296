// expression_text.h: expressions and types as text that is the same on every machine.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_EXPRESSION_TEXT_H
#define FOVEA_DSL_SRC_EXPRESSION_TEXT_H

#include <Halide.h>

#include <string>

namespace fovea::detail {

// Constants in full: expressions with different numbers have different texts.
std::string text_of(const Halide::Expr& e);

std::string text_of(const Halide::Type& type);  // "float32", "int32", "bool", …

// "undefined", or "of type float32".
std::string type_phrase(const Halide::Expr& e);

}  // namespace fovea::detail

#endif
