// diagnostics.cpp: the text of a broken rule.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>

#include <utility>

namespace fovea {

DeclarationError::DeclarationError(std::string variant, std::string field, std::string value,
                                   std::string rule, std::string fix)
    : std::runtime_error(fmt::format("variant '{}': {} is {}\n  rule: {}\n  fix:  {}", variant,
                                     field, value, rule, fix)),
      variant_(std::move(variant)),
      field_(std::move(field)),
      value_(std::move(value)),
      rule_(std::move(rule)),
      fix_(std::move(fix)) {}

}  // namespace fovea
