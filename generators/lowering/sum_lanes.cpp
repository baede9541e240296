// sum_lanes.cpp: a tree of sums of two shuffles each.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/sum_lanes.h"

#include <functional>
#include <vector>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

constexpr int quarter = 4;  // floats of 128 bits, within which shuffles are cheapest

// Of `a` and `b`, runs of `unit` lanes: within each part of `part` lanes, one sum takes the first
// half of the runs of a and then of b, the other operand of the sum the second half.
// Interleaved: a run of a, then one of b.
Expr fold(const Expr& a, const Expr& b, int part, int unit, bool interleaved) {
  const int lanes = a.type().lanes(), runs = part / unit / 2;
  std::vector<int> halves[2];
  for (int half = 0; half < 2; ++half) {
    const auto take = [&](int from, int begin, int run) {
      for (int i = 0; i < unit; ++i)
        halves[half].push_back(from * lanes + begin + (half * runs + run) * unit + i);
    };
    for (int begin = 0; begin < lanes; begin += part) {
      if (interleaved) {
        for (int run = 0; run < runs; ++run) {
          take(0, begin, run);
          take(1, begin, run);
        }
      } else {
        for (int from = 0; from < 2; ++from) {
          for (int run = 0; run < runs; ++run) take(from, begin, run);
        }
      }
    }
  }
  return ir::Shuffle::make({a, b}, halves[0]) + ir::Shuffle::make({a, b}, halves[1]);
}

// Even and odd quarters, of a and then of b.
Expr fold_quarters(const Expr& a, const Expr& b) {
  const int lanes = a.type().lanes();
  std::vector<int> halves[2];
  for (int half = 0; half < 2; ++half) {
    for (int begin = half * quarter; begin < 2 * lanes; begin += 2 * quarter) {
      for (int i = 0; i < quarter; ++i) halves[half].push_back(begin + i);
    }
  }
  return ir::Shuffle::make({a, b}, halves[0]) + ir::Shuffle::make({a, b}, halves[1]);
}

std::vector<Expr> in_pairs(const std::vector<Expr>& vectors,
                           const std::function<Expr(const Expr&, const Expr&)>& join) {
  std::vector<Expr> joined;
  for (size_t i = 0; i + 1 < vectors.size(); i += 2)
    joined.push_back(join(vectors[i], vectors[i + 1]));
  return joined;
}

}  // namespace

Expr SumLanes::visit(const ir::VectorReduce* op) {
  const int lanes = op->type.lanes();
  const auto* load = op->value.as<ir::Load>();
  const auto* ramp = load ? load->index.as<ir::Ramp>() : nullptr;
  const bool known_lanes = lanes == 4 || lanes == 8 || lanes == 16;
  const int summands = op->value.type().lanes() / lanes;
  if (op->op != ir::VectorReduce::Add || op->type.element_of() != Halide::Float(32) ||
      !known_lanes || (summands != lanes && summands != quarter) || !ramp ||
      !ir::is_const_one(ramp->stride) || !ramp->base.type().is_scalar() ||
      !ir::is_const_one(load->predicate)) {
    return ir::IRMutator::visit(op);
  }
  std::vector<Expr> vectors;
  for (int i = 0; i < summands; ++i) {
    const Expr first = ir::simplify(ramp->base + ir::make_const(ramp->base.type(), i * lanes));
    vectors.push_back(ir::Load::make(op->type, load->name,
                                     ir::Ramp::make(first, ramp->stride, lanes), load->image,
                                     load->param, ir::const_true(lanes), ir::ModulusRemainder()));
  }
  // Lanes of two vectors alternate, then pairs of lanes, all within quarters: the quarters of a
  // vector are now parts of the sums of four.
  vectors =
      in_pairs(vectors, [](const Expr& a, const Expr& b) { return fold(a, b, quarter, 1, true); });
  vectors =
      in_pairs(vectors, [](const Expr& a, const Expr& b) { return fold(a, b, quarter, 2, false); });
  if (summands < lanes) {
    // Quarters of the vectors were sums of their own.
    std::vector<int> quarters_of_one;
    for (int i = 0; i < lanes; ++i)
      quarters_of_one.push_back(i % (lanes / quarter) * quarter + i / (lanes / quarter));
    return ir::Shuffle::make({vectors[0]}, quarters_of_one);
  }
  if (lanes == 16) {
    vectors = in_pairs(vectors,
                       [](const Expr& a, const Expr& b) { return fold(a, b, 16, quarter, false); });
  }
  if (lanes >= 8) vectors = in_pairs(vectors, fold_quarters);
  return vectors[0];
}

}  // namespace fovea
