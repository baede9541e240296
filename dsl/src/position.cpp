// position.cpp: the variables a declaration is written against.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/position.h>

#include <algorithm>
#include <array>

namespace fovea {
namespace {

Expr position_variable(const char* name) {
  return Halide::Internal::Variable::make(Halide::Int(32), name);
}

constexpr std::array position_names = {"batch", "head",   "kv_head", "q", "k",  "row",
                                       "q_len", "kv_len", "score",   "d", "sum"};

}  // namespace

Position symbolic_position() {
  return {position_variable("batch"), position_variable("head"),  position_variable("kv_head"),
          position_variable("q"),     position_variable("k"),     position_variable("row"),
          position_variable("q_len"), position_variable("kv_len")};
}

Expr symbolic_score() { return Halide::Internal::Variable::make(Halide::Float(32), "score"); }

Expr symbolic_feature() { return position_variable("d"); }

bool is_position_name(const std::string& name) {
  return std::find(position_names.begin(), position_names.end(), name) != position_names.end();
}

}  // namespace fovea
