// identifier.h: which names can stand in generated C and C++.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_IDENTIFIER_H
#define FOVEA_DSL_IDENTIFIER_H

#include <string>

namespace fovea {

// Keywords of C and C++, and words that common headers and compilers define as macros.
bool is_reserved_word(const std::string& name);

// Why `name` cannot name a variant or a parameter; empty when it can. Names become identifiers of C
// and C++ and parts of kernel names, which separate their fields by two underscores.
std::string why_not_identifier(const std::string& name);

}  // namespace fovea

#endif
