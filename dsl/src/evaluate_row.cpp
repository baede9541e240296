// evaluate_row.cpp: the interpreter's row calls: entries, reductions over the row.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/row.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "evaluator.h"
#include "lane_arithmetic.h"

namespace fovea::detail {
namespace {

using Halide::Internal::Call;
using Halide::Internal::Variable;

// True if the term is one number for each index, the same in all lanes.
template <typename Real>
class VariesWithLane : public Halide::Internal::IRGraphVisitor {
 public:
  explicit VariesWithLane(const Environment<Real>& environment) : environment_(environment) {}
  bool found = false;

 private:
  using Halide::Internal::IRGraphVisitor::visit;
  void visit(const Variable* op) override {
    const auto variable = environment_.variables.find(op->name);
    if (variable == environment_.variables.end()) return;
    const Lanes<Real>& lanes = variable->second;
    found = found || (lanes.is_real ? lanes.reals.size() : lanes.integers.size()) != 1;
  }

  const Environment<Real>& environment_;
};

// Accumulates in the order of the indices. A NaN stays, on whichever side it stands.
template <typename Real>
Real reduced(bool is_sum, Real so_far, Real next) {
  if (is_sum) return so_far + next;
  return std::isnan(so_far) || so_far > next ? so_far : next;
}

}  // namespace

template <typename Real>
Lanes<Real> Evaluator<Real>::row_(const Call& call) {
  const std::vector<Real>& row = environment_.row;
  if (row.empty()) throw std::invalid_argument("fovea: '" + call.name + "' has no row here");
  const auto size = static_cast<int64_t>(row.size());
  if (call.name == row_calls::size) return Lanes<Real>::integer(size);
  if (call.name == row_calls::entry) {
    return {true,
            map_lanes<Real>(value(call.args.at(0)).integers,
                            [&](int64_t i) {
                              return row[static_cast<size_t>(std::clamp<int64_t>(i, 0, size - 1))];
                            }),
            {}};
  }
  if (call.name == row_calls::sum) return reduction_(true, call.args.at(0));
  if (call.name == row_calls::largest) return reduction_(false, call.args.at(0));
  refuse_operation(call.name);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::reduction_(bool is_sum, const Expr& term) {
  const size_t size = environment_.row.size();
  VariesWithLane<Real> lanes(environment_);
  term.accept(&lanes);
  if (!lanes.found) {
    // All terms at once, an index a lane.
    std::vector<int64_t> indices(size);
    std::iota(indices.begin(), indices.end(), int64_t{0});
    Evaluator terms(environment_, size, {false, {}, std::move(indices)});
    const std::vector<Real>& values = terms.value(term).reals;
    Real result = values.at(0);
    for (size_t j = 1; j < size; ++j) {
      result = reduced(is_sum, result, values[values.size() == 1 ? 0 : j]);
    }
    return Lanes<Real>::real(result);
  }
  Lanes<Real> result;
  for (size_t j = 0; j < size; ++j) {
    Evaluator terms(environment_, lanes_, Lanes<Real>::integer(static_cast<int64_t>(j)));
    const Lanes<Real>& next = terms.value(term);
    result =
        j == 0 ? next
               : Lanes<Real>{true,
                             map_lanes<Real>(result.reals, next.reals,
                                             [=](Real a, Real b) { return reduced(is_sum, a, b); }),
                             {}};
  }
  return result;
}

template Lanes<double> Evaluator<double>::row_(const Call&);
template Lanes<float> Evaluator<float>::row_(const Call&);

}  // namespace fovea::detail
