// canonical_text.cpp: a declaration as text, and its hash.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/variant.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "expression_text.h"

namespace fovea {
namespace {

using detail::text_of;

const char* axis_name(Axis::Kind kind) {
  switch (kind) {
    case Axis::Kind::Fixed:
      return "fixed";
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

std::string statement_of(const Parameter& p) {
  if (p.kind == Parameter::Kind::Scalar) {
    return fmt::format("scalar {} {} in {}{}, {}]\n", text_of(p.type), p.name,
                       p.exclusive_minimum ? "(" : "[", p.minimum, p.maximum);
  }
  std::string axes;
  for (const Axis& a : p.axes) {
    if (!axes.empty()) axes += ", ";
    axes += a.kind == Axis::Kind::Fixed ? std::to_string(a.extent) : axis_name(a.kind);
  }
  const std::string type = p.type.is_uint() ? "bool" : text_of(p.type);
  return fmt::format("table {} {}({})\n", type, p.name, axes);
}

// Whether an expression names a parameter: a scalar, an entry of a table or its extent.
bool asks_for(const Expr& e, const std::string& parameter) {
  struct Find : Halide::Internal::IRGraphVisitor {
    using Halide::Internal::IRGraphVisitor::visit;
    void visit(const Halide::Internal::Variable* op) override { found = found || op->name == name; }
    void visit(const Halide::Internal::Call* op) override {
      for (const char* prefix : {table_prefix, extent_prefix})
        found = found || op->name == prefix + name;
      Halide::Internal::IRGraphVisitor::visit(op);
    }
    std::string name;
    bool found = false;
  } find;
  find.name = parameter;
  e.accept(&find);
  return find.found;
}

constexpr std::pair<Output, const char*> output_words[] = {
    {Output::Lse, "lse"},
    {Output::RowMax, "row_max"},
    {Output::RowSum, "row_sum"},
    {Output::Probabilities, "probabilities"}};

}  // namespace

std::string Variant::canonical_text() const {
  std::string text = fmt::format("variant {}\n", name_);
  const auto add = [&](std::string_view statement, const Expr& e) {
    if (e.defined()) text += fmt::format("{} {}\n", statement, text_of(e));
  };
  const auto add_all = [&](std::string_view statement, const std::vector<Expr>& list) {
    for (const Expr& e : list) add(statement, e);
  };
  for (const auto& p : parameters_) text += statement_of(*p);
  add_all("query", query_steps_);
  add_all("key", key_steps_);
  add_all("value", value_steps_);
  add_all("score", score_steps_);
  add_all("keep", masks_);
  if (normalizer_ == Normalizer::Kind::Softmax) text += "normalize softmax\n";
  add("sink", sink_);
  add("normalize weights", weight_);
  add("divide by", divisor_);
  add("factor", weight_factor_);
  if (slice_count_ > 1) add(fmt::format("slices {}", slice_count_), combination_);
  add_all("output", output_steps_);
  for (const auto& [output, word] : output_words) {
    if (returns(output)) text += fmt::format("returns {}\n", word);
  }
  return text;
}

std::vector<size_t> Variant::cached_parameters() const {
  std::vector<size_t> asked;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto asks = [&](const Expr& step) { return asks_for(step, parameters_[i]->name); };
    if (std::any_of(key_steps_.begin(), key_steps_.end(), asks) ||
        std::any_of(value_steps_.begin(), value_steps_.end(), asks))
      asked.push_back(i);
  }
  return asked;
}

std::string Variant::cached_text() const {
  std::string text;
  for (const size_t i : cached_parameters()) text += statement_of(*parameters_[i]);
  for (const Expr& step : key_steps_) text += fmt::format("key {}\n", text_of(step));
  for (const Expr& step : value_steps_) text += fmt::format("value {}\n", text_of(step));
  return text;
}

uint64_t Variant::hash() const {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : canonical_text()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace fovea
