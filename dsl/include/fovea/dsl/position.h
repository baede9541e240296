// position.h: where a score sits, as Halide expressions.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_POSITION_H
#define FOVEA_DSL_POSITION_H

#include <Halide.h>

#include <string>

namespace fovea {

using Halide::Expr;

// All Int(32). q and k are absolute positions: query row i of a sequence sits at q_offset + i
// (q_offset defaults to kv_len - q_len, bottom-right alignment), key row j at j. `row` is that i,
// the place of the query in the caller's tensors: dense masks, biases and gates are indexed by it.
// q_len and kv_len are those of the sequence.
struct Position {
  Expr batch, head, kv_head;
  Expr q, k;
  Expr row;
  Expr q_len, kv_len;
};

// The position every declaration is written against: variables with the names of the fields. A
// pipeline substitutes its own expressions for them, the reference binds them to numbers.
Position symbolic_position();

// The score that enters a score step: product times scale, and what earlier steps made of it.
// Float(32).
Expr symbolic_score();

// The feature that a row transform computes, Int(32).
Expr symbolic_feature();

// True for the names of all these ("batch" … "kv_len", "score", "d", "sum"), which parameters
// cannot take.
bool is_position_name(const std::string& name);

}  // namespace fovea

#endif
