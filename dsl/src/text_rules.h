// text_rules.h: what a line of prose in a declaration may hold.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_TEXT_RULES_H
#define FOVEA_DSL_SRC_TEXT_RULES_H

#include <string>

namespace fovea::detail {

// Prose becomes part of comments in generated C and C++, and of tables in the documentation. Throws
// DeclarationError.
void require_line(const std::string& variant, const std::string& field, const std::string& text);

}  // namespace fovea::detail

#endif
