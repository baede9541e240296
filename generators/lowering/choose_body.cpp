// choose_body.cpp: the names by which a lowered body knows its arguments.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/choose_body.h"

#include <stdexcept>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

Expr buffer_argument(const std::string& name) {
  return ir::Variable::make(Halide::type_of<halide_buffer_t*>(), name + ".buffer");
}

}  // namespace

Expr argument_extent(const std::string& buffer, int dimension) {
  return ir::Call::make(Halide::Int(32), ir::Call::buffer_get_extent,
                        {buffer_argument(buffer), dimension}, ir::Call::Extern);
}

ir::LoweredFunc choose_body(const ir::LoweredFunc& usual, const Expr& condition,
                            const ir::LoweredFunc& other) {
  if (usual.args.size() != other.args.size())
    throw std::logic_error("two bodies of " + usual.name + " with different arguments");
  ir::Stmt body = other.body;
  for (size_t i = 0; i < usual.args.size(); ++i) {
    const std::string &name = usual.args[i].name, &other_name = other.args[i].name;
    if (name == other_name) continue;
    if (!usual.args[i].is_buffer())
      throw std::logic_error("argument " + name + " of " + usual.name + " is " + other_name +
                             " in its other body");
    body = ir::LetStmt::make(other_name + ".buffer", buffer_argument(name), body);
  }
  ir::LoweredFunc both = usual;
  both.body = ir::IfThenElse::make(condition, body, usual.body);
  return both;
}

}  // namespace fovea
