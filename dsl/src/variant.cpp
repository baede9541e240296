// variant.cpp: building a variant part by part.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/identifier.h>
#include <fovea/dsl/variant.h>

#include <utility>

#include "declaration_rules.h"
#include "text_rules.h"

namespace fovea {

namespace ir = Halide::Internal;

Variant::Variant(std::string name, std::string file, int line)
    : name_(std::move(name)), file_(std::move(file)), line_(line) {
  if (const std::string why = why_not_identifier(name_); !why.empty()) {
    throw DeclarationError(name_, "name", fmt::format("'{}'", name_), why,
                           "choose a name like softcapped_window");
  }
}

void Variant::set_line_(std::string& line, const char* field, std::string text) {
  if (!line.empty()) {
    throw DeclarationError(name_, field, fmt::format("'{}', declared twice", text),
                           fmt::format("a variant has one {}", field),
                           fmt::format("keep one of the calls of v.{}", field));
  }
  detail::require_line(name_, field, text);
  line = std::move(text);
}

void Variant::summary(std::string text) { set_line_(summary_, "summary", std::move(text)); }
void Variant::source(std::string text) { set_line_(source_, "source", std::move(text)); }
void Variant::family(std::string text) { set_line_(family_, "family", std::move(text)); }

void Variant::note(std::string text) {
  detail::require_line(name_, "note", text);
  notes_.push_back(std::move(text));
}

std::shared_ptr<Parameter> Variant::add_parameter_(const std::string& name, Parameter::Kind kind,
                                                   Halide::Type type, std::vector<Axis> axes) {
  const std::string field = kind == Parameter::Kind::Scalar ? "scalar" : "table";
  if (const std::string why = why_not_identifier(name); !why.empty()) {
    throw DeclarationError(name_, field + " name", fmt::format("'{}'", name), why,
                           "choose a name like softcap");
  }
  if (is_position_name(name)) {
    throw DeclarationError(name_, field + " name", fmt::format("'{}'", name),
                           "batch, head, kv_head, q, k, row, q_len, kv_len, score, d and sum have "
                           "a meaning of their own",
                           fmt::format("choose another name, for example {}_value", name));
  }
  if (find_parameter(name)) {
    throw DeclarationError(name_, field + " name", fmt::format("'{}'", name),
                           "a parameter is declared once",
                           "keep the handle of the first declaration and use it again");
  }
  if (kind == Parameter::Kind::Table) {
    if (axes.empty() || axes.size() > 4) {
      throw DeclarationError(name_, fmt::format("table '{}'", name),
                             fmt::format("declared with {} axes", axes.size()),
                             "a table has 1 to 4 axes", "fold small axes into one");
    }
    for (const Axis& a : axes) {
      if (a.kind == Axis::Kind::Fixed && (a.extent < 1 || a.extent > INT32_MAX)) {
        throw DeclarationError(name_, fmt::format("table '{}'", name),
                               fmt::format("declared with an extent of {}", a.extent),
                               "a fixed extent is 1 to 2147483647",
                               "use axis::any for an extent known at run time");
      }
    }
  }
  auto parameter = std::make_shared<Parameter>();
  parameter->name = name;
  parameter->kind = kind;
  parameter->type = type.is_bool() ? Halide::UInt(8) : type;
  parameter->axes = std::move(axes);
  if (kind == Parameter::Kind::Scalar && type.is_int()) {
    parameter->minimum = -largest_integer;
    parameter->maximum = largest_integer;
  }
  parameters_.push_back(parameter);
  return parameter;
}

const Parameter* Variant::find_parameter(const std::string& name) const {
  for (const auto& p : parameters_) {
    if (p->name == name) return p.get();
  }
  return nullptr;
}

void Variant::score(const std::function<Expr(Expr, const Position&)>& step) {
  score_steps_.push_back(detail::checked_part(
      *this, fmt::format("score step {}", score_steps_.size() + 1), detail::score_scope,
      Halide::Float(32), [&] { return step(symbolic_score(), symbolic_position()); }));
}

void Variant::keep(const Mask& mask) {
  masks_.push_back(detail::checked_part(*this, fmt::format("mask {}", masks_.size() + 1),
                                        detail::mask_scope, Halide::Bool(),
                                        [&] { return mask(symbolic_position()); }));
}

void Variant::add_transform_(std::vector<Expr>& steps, const char* what, const detail::Scope& scope,
                             const RowTransform& transform) {
  const std::string field = fmt::format("{} transform {}", what, steps.size() + 1);
  const Row row(name_, field);
  steps.push_back(detail::checked_part(*this, field, scope, Halide::Float(32), [&] {
    return transform(row, symbolic_feature(), symbolic_position());
  }));
}

void Variant::query(const RowTransform& transform) {
  add_transform_(query_steps_, "query", detail::query_scope, transform);
}
void Variant::key(const RowTransform& transform) {
  add_transform_(key_steps_, "key", detail::key_scope, transform);
}
void Variant::value(const RowTransform& transform) {
  add_transform_(value_steps_, "value", detail::value_scope, transform);
}
void Variant::output(const RowTransform& transform) {
  add_transform_(output_steps_, "output", detail::output_scope, transform);
}

void Variant::normalize(const Normalizer& normalizer) {
  const auto refuse = [&](const char* value, const char* rule, const char* fix) {
    throw DeclarationError(name_, "normalizer", value, rule, fix);
  };
  if (normalizer_given_) {
    refuse("declared twice", "a variant has one normalizer",
           "keep one of the calls of v.normalize");
  }
  const bool is_softmax = normalizer.kind == Normalizer::Kind::Softmax;
  if (normalizer.sink_logit && !is_softmax) {
    refuse("weights(…) with a sink", "a sink joins the sum of a softmax",
           "use softmax().sink(…), or add to the sum in divided_by");
  }
  if (normalizer.divisor && is_softmax) {
    refuse("softmax() with divided_by", "a softmax divides by the sum of its weights",
           "use weights(f).divided_by(g), or v.output");
  }
  if (!normalizer.weight && !is_softmax) {
    refuse("weights(…) without a function", "a weight is a function of the score and the position",
           "write weights([=](Expr s, Position p) { return …; })");
  }
  const auto part = [&](const char* field, const detail::Scope& scope, auto f) {
    return detail::checked_part(*this, field, scope, Halide::Float(32), f);
  };
  const Position p = symbolic_position();
  if (normalizer.sink_logit) {
    sink_ = part("sink logit", detail::sink_scope, [&] { return normalizer.sink_logit(p); });
  }
  if (normalizer.weight) {
    weight_ = part("weight function", detail::weight_scope,
                   [&] { return normalizer.weight(symbolic_score(), p); });
  }
  if (normalizer.divisor) {
    divisor_ = part("weight divisor", detail::divisor_scope,
                    [&] { return normalizer.divisor(symbolic_weight_sum(), p); });
  }
  normalizer_ = normalizer.kind;
  normalizer_given_ = true;
}

void Variant::weight_factor(const std::function<Expr(const Position&)>& factor) {
  if (weight_factor_.defined()) {
    throw DeclarationError(name_, "weight factor", "declared twice",
                           "a variant has one weight factor",
                           "return the product of both from one function");
  }
  weight_factor_ =
      detail::checked_part(*this, "weight factor", detail::factor_scope, Halide::Float(32),
                           [&] { return factor(symbolic_position()); });
}

Expr Variant::symbolic_slice(int i) {
  return ir::Variable::make(Halide::Float(32), fmt::format("slice.{}", i));
}

void Variant::slices(int count, const Combine& combine) {
  if (combination_.defined()) {
    throw DeclarationError(name_, "slices", "declared twice", "the rows of a variant are cut once",
                           "keep one of the calls of v.slices");
  }
  if (count < 2 || count > 4) {
    throw DeclarationError(name_, "slices", fmt::format("{} slices of a row", count), "2 to 4",
                           "leave v.slices out for plain attention");
  }
  std::vector<Expr> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(symbolic_slice(i));
  combination_ = detail::checked_part(*this, "slice combination", detail::combination_scope(count),
                                      Halide::Float(32),
                                      [&] { return combine(outputs, symbolic_position()); });
  slice_count_ = count;
}

void Variant::returns(Output output) { outputs_.insert(output); }

Expr Variant::score_chain() const {
  Expr chain = symbolic_score();
  for (const Expr& step : score_steps_) chain = ir::substitute("score", chain, step);
  return chain;
}

Expr Variant::mask() const {
  Expr all;
  for (const Expr& m : masks_) all = all.defined() ? all && m : m;
  return all.defined() ? all : ir::const_true();
}

}  // namespace fovea
