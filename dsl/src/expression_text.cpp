// SPDX-License-Identifier: Apache-2.0
#include "expression_text.h"

#include <fmt/format.h>

#include <sstream>

namespace fovea::detail {
namespace {

namespace ir = Halide::Internal;

// Halide prints six decimals, which makes one text of 1e-8f and 2e-8f. Here a constant becomes a
// variable named by the shortest text that reads back as the same number; the mark finds it again.
constexpr char constant_mark = '\1';

class ExactConstants : public ir::IRMutator {
 private:
  using ir::IRMutator::visit;
  Halide::Expr visit(const ir::FloatImm* op) override {
    const std::string number = op->type.bits() == 32
                                   ? fmt::format("{}f", static_cast<float>(op->value))
                                   : fmt::format("{}", op->value);
    return ir::Variable::make(op->type, constant_mark + number);
  }
};

}  // namespace

std::string text_of(const Halide::Expr& e) {
  std::ostringstream out;
  out << ExactConstants().mutate(e);
  std::string text = out.str();
  // Halide puts the type, in parentheses, before a variable.
  for (size_t mark; (mark = text.find(constant_mark)) != std::string::npos;) {
    const size_t type = text.rfind('(', mark);
    text.erase(type, mark - type + 1);
  }
  return text;
}

std::string text_of(const Halide::Type& type) {
  if (type.is_bool() && type.is_scalar()) return "bool";
  std::ostringstream out;
  out << type;
  return out.str();
}

std::string type_phrase(const Halide::Expr& e) {
  return e.defined() ? "of type " + text_of(e.type()) : "undefined";
}

}  // namespace fovea::detail
