// layout.h: lines for a terminal.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_LAYOUT_H
#define FOVEA_GENERATORS_DESCRIBE_LAYOUT_H

#include <string>
#include <vector>

namespace fovea {

inline constexpr size_t line_width = 96;

// Characters, not bytes, of a UTF-8 text.
size_t width_of(const std::string& text);

// `first` padded to `indent` characters, then the text, broken at spaces; further lines start at
// `indent`. A word longer than a line stands alone. Ends with a newline.
std::string wrapped(const std::string& first, size_t indent, const std::string& text);

// The same for a formula: broken before && || if else where that leaves pieces short enough.
std::string wrapped_formula(const std::string& first, size_t indent, const std::string& formula);

// Of `names`, the one with the fewest changed letters, if it is close enough to be a misspelling;
// else empty.
std::string nearest_name(const std::string& name, const std::vector<std::string>& names);

// "; did you mean 'causal'?", or nothing: what a refusal of a name ends with.
std::string suggestion(const std::string& name, const std::vector<std::string>& names);

}  // namespace fovea

#endif
