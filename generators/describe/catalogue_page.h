// catalogue_page.h: all declared variants as one page of documentation, with pictures.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_CATALOGUE_PAGE_H
#define FOVEA_GENERATORS_DESCRIBE_CATALOGUE_PAGE_H

#include <fovea/dsl/variant.h>

#include <map>
#include <string>
#include <vector>

namespace fovea {

// The heading of variants without a family.
inline constexpr const char* no_family = "Other";

// Variants under their headings: families in alphabetical order, those without one last.
std::vector<std::pair<std::string, std::vector<const Variant*>>> by_family(
    const std::vector<Variant>& variants);

// Files by their path beside each other: variants.md and pictures/<name>.svg, one for each variant
// that hides something or has a bias. `more` is Markdown that the page ends with.
std::map<std::string, std::string> catalogue_page(const std::vector<Variant>& variants,
                                                  const std::string& more);

}  // namespace fovea

#endif
