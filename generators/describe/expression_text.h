// expression_text.h: an expression of a declaration as people write it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_EXPRESSION_TEXT_H
#define FOVEA_GENERATORS_DESCRIBE_EXPRESSION_TEXT_H

#include <fovea/dsl/position.h>

#include <string>

namespace fovea {

// What a row transform's row and the index of its reductions are called.
struct TextNames {
  std::string row = "x";
  std::string index = "j";
};

// "softcap * tanh(score / softcap)", "k <= q && q - k < window", "slope[head] * (q - k)". No more
// parentheses than the meaning needs. Conversions that lose nothing are not shown; integer division
// and remainder are `div` and `mod`, which tells them from the division of reals. Meant for
// reading: long ones are shown with names for what they hold twice ("…, where t1 = …"), and two
// different expressions may look alike, the canonical text of a variant is exact.
std::string expression_text(const Expr& e, const TextNames& names = {});

}  // namespace fovea

#endif
