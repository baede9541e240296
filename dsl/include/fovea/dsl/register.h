// register.h: FOVEA_VARIANT and the list of variants it fills.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_REGISTER_H
#define FOVEA_DSL_REGISTER_H

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

namespace fovea {

using Declare = void (*)(Variant&);

// Remembers a declaration without running it, so that an error in it can be reported by name and
// not before main().
bool register_variant(const char* name, const char* file, int line, Declare declare);

// Runs every registered declaration and returns the variants sorted by name. Throws
// DeclarationError: a rule broken in a declaration, or two declarations of one name.
std::vector<Variant> declared_variants();

// One of them. Throws std::invalid_argument, naming those there are, when it is not declared.
Variant declared_variant(const std::string& name);

}  // namespace fovea

// FOVEA_VARIANT(causal, v) { v.keep(fovea::masks::causal()); }
#define FOVEA_VARIANT(name, v)                                                     \
  static void fovea_declare_##name(::fovea::Variant& v);                           \
  [[maybe_unused]] static const bool fovea_registered_##name =                     \
      ::fovea::register_variant(#name, __FILE__, __LINE__, &fovea_declare_##name); \
  static void fovea_declare_##name([[maybe_unused]] ::fovea::Variant& v)

#endif
