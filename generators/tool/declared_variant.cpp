// declared_variant.cpp: names beside those that are declared.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tool/declared_variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "generators/describe/layout.h"

namespace fovea {

const Variant& declared_variant(const std::vector<Variant>& declared, const std::string& name) {
  std::vector<std::string> names;
  for (const Variant& v : declared) {
    if (v.name() == name) return v;
    names.push_back(v.name());
  }
  throw std::invalid_argument(fmt::format("variant '{}' is not declared{}: allowed is {}", name,
                                          suggestion(name, names), fmt::join(names, ", ")));
}

}  // namespace fovea
