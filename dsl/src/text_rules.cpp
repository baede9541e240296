// SPDX-License-Identifier: Apache-2.0
#include "text_rules.h"

#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>

#include <algorithm>

namespace fovea::detail {

void require_line(const std::string& variant, const std::string& field, const std::string& text) {
  if (text.find_first_not_of(' ') == std::string::npos) {
    throw DeclarationError(variant, field, "empty", "one line of text", "say it, or leave it out");
  }
  const bool control =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32; });
  if (control || text.find("*/") != std::string::npos || text.find("/*") != std::string::npos ||
      text.ends_with('\\')) {
    throw DeclarationError(variant, field, fmt::format("'{}'", text),
                           "one line of text that can stand inside a comment",
                           "leave out line breaks, tabs, comment marks and a backslash at the end");
  }
}

}  // namespace fovea::detail
