// variant_text.cpp: the steps of a variant and the kinds of its parameters, from the declaration.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/variant_text.h"

#include <fmt/format.h>

#include <cmath>

#include "generators/describe/expression_text.h"

namespace fovea {
namespace {

// A name that stands for something else than a parameter of the variant.
std::string free_name(const Variant& variant, std::initializer_list<const char*> candidates) {
  for (const char* name : candidates) {
    if (!variant.find_parameter(name)) return name;
  }
  return std::string(*candidates.begin()) + "'";
}

class Steps {
 public:
  explicit Steps(const Variant& variant) : v_(variant), index_(free_name(v_, {"j", "i", "n"})) {}

  std::vector<Step> all() {
    transforms_("query", v_.query_steps(), free_name(v_, {"query", "x"}));
    transforms_("key", v_.key_steps(), free_name(v_, {"key", "y"}));
    product_();
    for (const Expr& e : v_.score_steps())
      add_("score", fmt::format("score = {}", expression_text(e)), true);
    if (const Expr mask = v_.mask(); !Halide::Internal::is_const_one(mask))
      add_("mask", fmt::format("keep {}", expression_text(mask)), true);
    weights_();
    if (v_.weight_factor().defined()) {
      const std::string factor = expression_text(w_() * v_.weight_factor());
      add_("factor", fmt::format("w = {}", factor), true);
    }
    const std::string value = free_name(v_, {"value", "z"});
    transforms_("value", v_.value_steps(), value);
    add_("sum", fmt::format("out[d] = sum_k(w * {}[d])", value), false);
    if (v_.slice_count() > 1) {
      add_("slices",
           fmt::format("out[d] = {}, each o[i] made like this from slice i of {} of the features",
                       expression_text(v_.combination()), v_.slice_count()),
           true);
    }
    transforms_("output", v_.output_steps(), free_name(v_, {"out", "x"}));
    outputs_();
    return std::move(steps_);
  }

 private:
  void add_(std::string part, std::string text, bool declared) {
    steps_.push_back({std::move(part), std::move(text), declared});
  }

  static Expr w_() { return Halide::Internal::Variable::make(Halide::Float(32), "w"); }

  void transforms_(const char* part, const std::vector<Expr>& steps, const std::string& row) {
    for (const Expr& e : steps)
      add_(part, fmt::format("{}[d] = {}", row, expression_text(e, {row, index_})), true);
  }

  void product_() {
    const std::string query = free_name(v_, {"query", "x"}), key = free_name(v_, {"key", "y"});
    add_("product",
         fmt::format("score = scale * sum_d({}[d] * {}[d]), scale 1/sqrt({}) unless given", query,
                     key, v_.slice_count() > 1 ? fmt::format("d_qk/{}", v_.slice_count()) : "d_qk"),
         false);
  }

  void weights_() {
    if (v_.normalizer() == Normalizer::Kind::Softmax) {
      if (!v_.sink_logit().defined()) {
        add_("weight", "w = exp(score) / sum_k(exp(score))", false);
      } else {
        add_("weight",
             fmt::format("w = exp(score) / (sum_k(exp(score)) + exp({}))",
                         expression_text(v_.sink_logit())),
             true);
      }
      return;
    }
    add_("weight", fmt::format("w = {}", expression_text(v_.weight())), true);
    if (v_.divisor().defined()) {
      const std::string divided = expression_text(w_() / v_.divisor());
      add_("weight", fmt::format("w = {}, sum = sum_k(w)", divided), true);
    }
  }

  void outputs_() {
    const bool softmax = v_.normalizer() == Normalizer::Kind::Softmax;
    const char* sink = v_.sink_logit().defined() ? ", the sink included" : "";
    if (v_.returns(Output::Lse))
      add_("returns", fmt::format("lse = ln(sum_k(exp(score))){}", sink), true);
    if (v_.returns(Output::RowMax))
      add_("returns", fmt::format("row_max = max_k(score){}", sink), true);
    if (v_.returns(Output::RowSum)) {
      add_("returns",
           softmax ? fmt::format("row_sum = sum_k(exp(score - row_max)){}", sink)
                   : std::string("row_sum = sum_k(w), before the division"),
           true);
    }
    if (v_.returns(Output::Probabilities))
      add_("returns", "probabilities = w of every query and key", true);
  }

  const Variant& v_;
  const std::string index_;
  std::vector<Step> steps_;
};

const char* axis_name(Axis::Kind kind) {
  switch (kind) {
    case Axis::Kind::Fixed:
      break;
    case Axis::Kind::Batch:
      return "batch";
    case Axis::Kind::Head:
      return "head";
    case Axis::Kind::KvHead:
      return "kv_head";
    case Axis::Kind::Query:
      return "query";
    case Axis::Kind::Key:
      return "key";
    case Axis::Kind::Position:
      return "position";
    case Axis::Kind::Row:
      return "row";
    case Axis::Kind::Feature:
      return "feature";
    case Axis::Kind::ValueFeature:
      return "value_feature";
    case Axis::Kind::Any:
      return "any";
  }
  return "?";
}

}  // namespace

std::vector<Step> variant_steps(const Variant& variant) { return Steps(variant).all(); }

std::vector<std::string> formula_lines(const Variant& variant) {
  std::vector<std::string> lines;
  for (const Step& s : variant_steps(variant)) {
    if (s.declared && s.part != "returns") lines.push_back(s.text);
  }
  return lines;
}

std::string type_text(const Parameter& p) {
  if (p.type.is_float()) return "float";
  return p.type == Halide::UInt(8) ? "bool" : "int";
}

std::string bound_text(const Parameter& p, double bound) {
  return p.type.is_float() ? fmt::format("{}", static_cast<float>(bound))
                           : fmt::format("{}", static_cast<int64_t>(bound));
}

std::string range_text(const Parameter& p) {
  // Every integer has bounds; the widest ones say nothing.
  const auto open = [&](double bound) {
    return std::isinf(bound) || (p.type.is_int() && std::abs(bound) == largest_integer);
  };
  const std::string low = (p.exclusive_minimum ? "> " : ">= ") + bound_text(p, p.minimum),
                    high = "<= " + bound_text(p, p.maximum);
  if (open(p.minimum) && open(p.maximum)) return "";
  if (open(p.maximum)) return low;
  if (open(p.minimum)) return high;
  return low + ", " + high;
}

std::string axes_text(const Parameter& p) {
  std::string text;
  for (const Axis& a : p.axes) {
    text += text.empty() ? "" : ", ";
    text += a.kind == Axis::Kind::Fixed ? std::to_string(a.extent) : axis_name(a.kind);
  }
  return "[" + text + "]";
}

std::string parameter_text(const Parameter& p) {
  const std::string rest = p.kind == Parameter::Kind::Table ? axes_text(p) : range_text(p);
  return rest.empty() ? type_text(p) : type_text(p) + " " + rest;
}

}  // namespace fovea
