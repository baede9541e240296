// row_chain.cpp: the row transforms of a declaration as Funcs.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/row_chain.h"

#include <limits>
#include <utility>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

std::vector<Expr> expressions(const std::vector<Var>& arguments) {
  return {arguments.begin(), arguments.end()};
}

}  // namespace

RowChain make_row_chain(const std::string& name, const std::vector<Expr>& transforms,
                        const RowLayout& layout, const BindDeclaration& binder,
                        const std::function<Expr(std::vector<Expr>)>& source) {
  const auto axis = static_cast<size_t>(layout.feature_axis);
  std::vector<Var> others = layout.arguments;
  others.erase(others.begin() + layout.feature_axis);

  RowChain chain;
  std::function<Expr(std::vector<Expr>)> before = source;
  for (size_t i = 0; i < transforms.size(); ++i) {
    RowStep step;
    const std::string step_name = name + "_" + std::to_string(i + 1);
    std::vector<std::pair<Expr, Expr>> known;  // reductions of this step and what stands for them
    RowSource row;
    row.size = layout.size;
    row.entry = [&](Expr feature) {
      std::vector<Expr> arguments = expressions(layout.arguments);
      arguments[axis] = std::move(feature);
      return before(arguments);
    };
    row.reduce = [&](const ir::Call& reduction) -> Expr {
      for (const auto& [seen, value] : known) {
        if (ir::equal(seen, &reduction)) return value;
      }
      const bool is_sum = reduction.name == row_calls::sum;
      RowStep::Reduction r{Func(step_name + (is_sum ? "_sum" : "_largest")),
                           RDom(0, layout.size, step_name + "_features"), is_sum};
      RowSource inner = row;
      inner.reduce = nullptr;  // the declaration rules allow none inside another
      BindDeclaration term = binder;
      term.bind_row(inner).bind(row_calls::index, r.features.x);
      const Expr value = term.mutate(reduction.args[0]);
      if (is_sum) {
        r.f(others) = 0.0f;
        r.f(others) += value;
      } else {
        r.f(others) = std::numeric_limits<float>::lowest();
        // The operand that a comparison with NaN selects is the NaN.
        const Expr so_far = r.f(others);
        r.f(others) = keep_nan(value, keep_nan(so_far, Halide::max(so_far, value)));
      }
      step.reductions.push_back(r);
      known.emplace_back(&reduction, r.f(expressions(others)));
      return known.back().second;
    };
    BindDeclaration entry = binder;
    entry.bind_row(row).bind("d", layout.arguments[axis]);
    const Expr value = entry.mutate(transforms[i]);
    step.row = Func(step_name);
    step.row(layout.arguments) = value;
    chain.steps.push_back(step);
    before = [f = step.row](std::vector<Expr> arguments) mutable -> Expr { return f(arguments); };
  }
  return chain;
}

}  // namespace fovea
