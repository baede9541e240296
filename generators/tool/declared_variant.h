// declared_variant.h: the variant that a word of a command names.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TOOL_DECLARED_VARIANT_H
#define FOVEA_GENERATORS_TOOL_DECLARED_VARIANT_H

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

namespace fovea {

// Throws std::invalid_argument with the declared names, and the one that is probably meant, if it
// is none of them.
const Variant& declared_variant(const std::vector<Variant>& declared, const std::string& name);

}  // namespace fovea

#endif
