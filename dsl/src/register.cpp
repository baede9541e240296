// register.cpp: the declarations of this program.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/register.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace fovea {
namespace {

struct Registration {
  const char* name;
  const char* file;
  int line;
  Declare declare;
};

std::vector<Registration>& registrations() {
  static std::vector<Registration> list;
  return list;
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

bool register_variant(const char* name, const char* file, int line, Declare declare) {
  registrations().push_back({name, file, line, declare});
  return true;
}

std::vector<Variant> declared_variants() {
  std::vector<Registration> list = registrations();
  const auto key = [](const Registration& r) {
    return std::tuple(std::string_view(r.name), std::string_view(r.file), r.line);
  };
  std::sort(list.begin(), list.end(),
            [&](const Registration& x, const Registration& y) { return key(x) < key(y); });
  std::vector<Variant> variants;
  for (size_t i = 0; i < list.size(); ++i) {
    const Registration& r = list[i];
    if (i && std::string(list[i - 1].name) == r.name) {
      throw DeclarationError(r.name, "name",
                             fmt::format("declared at {}:{} and at {}:{}", list[i - 1].file,
                                         list[i - 1].line, r.file, r.line),
                             "a library holds one variant of a name", "rename one of them");
    }
    Variant v(r.name, r.file, r.line);
    try {
      r.declare(v);
    } catch (const Halide::Error& error) {
      // From an expression built outside a score step or a mask; those name themselves.
      throw DeclarationError(
          r.name, "declaration", fmt::format("not valid at {}:{}", r.file, r.line),
          without_line_end(error.what()), "compare and combine expressions of one type");
    }
    v.check();
    variants.push_back(std::move(v));
  }
  return variants;
}

Variant declared_variant(const std::string& name) {
  std::string names;
  for (Variant& v : declared_variants()) {
    if (v.name() == name) return std::move(v);
    names += (names.empty() ? "" : ", ") + v.name();
  }
  throw std::invalid_argument(
      fmt::format("variant '{}' is not declared in this program; declared are: {}", name,
                  names.empty() ? "none" : names));
}

}  // namespace fovea
