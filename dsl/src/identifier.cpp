// identifier.cpp: the rules of names.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/identifier.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fovea {
namespace {

// Sorted, for the search. linux and unix are macros of GNU C, the rest of the lower-case macros
// come from <assert.h>, <complex.h>, <errno.h>, <iso646.h>, <stddef.h> and <stdio.h>.
constexpr std::array<std::string_view, 104> reserved_words = {
    "alignas",       "alignof",    "and",       "and_eq",
    "asm",           "assert",     "auto",      "bitand",
    "bitor",         "bool",       "break",     "case",
    "catch",         "char",       "char16_t",  "char32_t",
    "char8_t",       "class",      "co_await",  "co_return",
    "co_yield",      "compl",      "complex",   "concept",
    "const",         "const_cast", "consteval", "constexpr",
    "constinit",     "continue",   "decltype",  "default",
    "delete",        "do",         "double",    "dynamic_cast",
    "else",          "enum",       "errno",     "explicit",
    "export",        "extern",     "false",     "float",
    "for",           "friend",     "goto",      "if",
    "inline",        "int",        "linux",     "long",
    "mutable",       "namespace",  "new",       "noexcept",
    "not",           "not_eq",     "nullptr",   "offsetof",
    "operator",      "or",         "or_eq",     "private",
    "protected",     "public",     "register",  "reinterpret_cast",
    "requires",      "restrict",   "return",    "short",
    "signed",        "sizeof",     "static",    "static_assert",
    "static_cast",   "stderr",     "stdin",     "stdout",
    "struct",        "switch",     "template",  "this",
    "thread_local",  "throw",      "true",      "try",
    "typedef",       "typeid",     "typename",  "typeof",
    "typeof_unqual", "union",      "unix",      "unsigned",
    "using",         "virtual",    "void",      "volatile",
    "wchar_t",       "while",      "xor",       "xor_eq"};
static_assert(std::is_sorted(reserved_words.begin(), reserved_words.end()));

}  // namespace

bool is_reserved_word(const std::string& name) {
  return std::binary_search(reserved_words.begin(), reserved_words.end(), name);
}

std::string why_not_identifier(const std::string& name) {
  if (name.empty()) return "it is empty";
  if (name[0] < 'a' || name[0] > 'z') return "it must begin with a lower-case letter";
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
      return "it may hold lower-case letters, digits and underscores";
    }
  }
  if (name.find("__") != std::string::npos || name.back() == '_')
    return "underscores stand single and inside";
  if (is_reserved_word(name)) return "it is a keyword of C or C++";
  return {};
}

}  // namespace fovea
