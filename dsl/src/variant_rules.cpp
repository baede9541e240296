// variant_rules.cpp: rules of a variant as a whole.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/variant.h>

#include "declaration_rules.h"
#include "example_rules.h"

namespace fovea {

void Variant::check() const {
  detail::NameCollector names;
  for (const std::vector<Expr>* parts :
       {&score_steps_, &masks_, &query_steps_, &key_steps_, &value_steps_, &output_steps_}) {
    for (const Expr& e : *parts) e.accept(&names);
  }
  for (const Expr& e : {sink_, weight_, divisor_, weight_factor_, combination_}) {
    if (e.defined()) e.accept(&names);
  }
  for (const auto& p : parameters_) {
    const bool is_used = names.variables.count({p->name, p->type}) != 0 ||
                         names.tables.count(p->name) != 0 || names.extents.count(p->name) != 0;
    if (!is_used) {
      throw DeclarationError(name_, p->kind == Parameter::Kind::Scalar ? "scalar" : "table",
                             fmt::format("'{}', declared but not used", p->name),
                             "every parameter takes part in a step, a mask or another function",
                             "use it, or remove its declaration");
    }
    detail::check_examples(name_, *p);
  }

  const auto refuse_output = [&](const char* output, const char* rule, const char* fix) {
    throw DeclarationError(name_, "returns", output, rule, fix);
  };
  if (normalizer_ == Normalizer::Kind::Weights) {
    if (returns(Output::Lse)) {
      refuse_output("lse", "a log-sum of exponentials belongs to a softmax", "return row_sum");
    }
    if (returns(Output::RowMax)) {
      refuse_output("row_max", "only a softmax looks for its largest score", "return row_sum");
    }
  }
  if (slice_count_ > 1 && !outputs_.empty()) {
    refuse_output("an extra output", "with slices, several sets of weights belong to one row",
                  "leave the extra outputs out");
  }
}

}  // namespace fovea
