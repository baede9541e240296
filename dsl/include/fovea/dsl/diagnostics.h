// diagnostics.h: what an author is told when a declaration breaks a rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_DIAGNOSTICS_H
#define FOVEA_DSL_DIAGNOSTICS_H

#include <stdexcept>
#include <string>

namespace fovea {

// variant, field and value say where, rule says what is allowed, fix how to get there.
class DeclarationError : public std::runtime_error {
 public:
  DeclarationError(std::string variant, std::string field, std::string value, std::string rule,
                   std::string fix);

  const std::string& variant() const { return variant_; }
  const std::string& field() const { return field_; }
  const std::string& value() const { return value_; }
  const std::string& rule() const { return rule_; }
  const std::string& fix() const { return fix_; }

 private:
  std::string variant_, field_, value_, rule_, fix_;
};

}  // namespace fovea

#endif
