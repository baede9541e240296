// variant.cpp: building a variant, with the rules a declaration has to keep.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/identifier.h>
#include <fovea/dsl/variant.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "text_rules.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// Halide prints six decimals, which makes one text of 1e-8f and 2e-8f. Here a constant becomes a
// variable named by the shortest text that reads back as the same number; the mark finds it again.
constexpr char constant_mark = '\1';

class ExactConstants : public ir::IRMutator {
 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::FloatImm* op) override {
    const std::string number = op->type.bits() == 32
                                   ? fmt::format("{}f", static_cast<float>(op->value))
                                   : fmt::format("{}", op->value);
    return ir::Variable::make(op->type, constant_mark + number);
  }
};

std::string text_of(const Expr& e) {
  std::ostringstream out;
  out << ExactConstants().mutate(e);
  std::string text = out.str();
  // Halide puts the type, in parentheses, before a variable.
  for (size_t mark; (mark = text.find(constant_mark)) != std::string::npos;) {
    const size_t type = text.rfind('(', mark);
    text.erase(type, mark - type + 1);
  }
  return text;
}

std::string text_of(const Halide::Type& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

// Collects the free variables and the table reads of an expression.
class NameCollector : public ir::IRGraphVisitor {
 public:
  // Every one in each type and shape that it is used with.
  std::set<std::pair<std::string, Halide::Type>> variables;
  std::multimap<std::string, const ir::Call*> tables;
  std::set<std::string> extents;
  std::set<std::string> impure;  // calls a declaration cannot contain
  bool reads_row = false;

 private:
  using ir::IRGraphVisitor::visit;
  void visit(const ir::Variable* op) override { variables.emplace(op->name, op->type); }
  void visit(const ir::Call* op) override {
    const std::string_view name = op->name;
    if (op->call_type == ir::Call::PureExtern && name.starts_with(table_prefix)) {
      tables.emplace(name.substr(std::string_view(table_prefix).size()), op);
    } else if (op->call_type == ir::Call::PureExtern && name.starts_with(extent_prefix)) {
      extents.emplace(name.substr(std::string_view(extent_prefix).size()));
    } else if (op->call_type == ir::Call::PureExtern && name.starts_with("row.")) {
      reads_row = true;
    } else if (op->call_type == ir::Call::Halide || op->call_type == ir::Call::Image ||
               op->is_intrinsic({ir::Call::random, ir::Call::undef}) || !op->is_pure()) {
      // Halide counts random numbers and undefined values among the pure intrinsics.
      impure.insert(op->name);
    }
    ir::IRGraphVisitor::visit(op);
  }
};

// Runs the author's code; an error of Halide's own inside it gets the place and the way out.
template <typename F>
auto declare_part(const std::string& variant, const std::string& field, F&& part) {
  try {
    return part();
  } catch (const Halide::Error& error) {
    std::string what = error.what();
    while (!what.empty() && what.back() == '\n') what.pop_back();
    throw DeclarationError(variant, field, "not a valid expression", what,
                           "compare and combine expressions of one type");
  }
}

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

}  // namespace

Variant::Variant(std::string name, std::string file, int line)
    : name_(std::move(name)), file_(std::move(file)), line_(line) {
  if (const std::string why = why_not_identifier(name_); !why.empty()) {
    throw DeclarationError(name_, "name", fmt::format("'{}'", name_), why,
                           "choose a name like softcapped_window");
  }
}

void Variant::summary(std::string text) {
  detail::require_line(name_, "summary", text);
  summary_ = std::move(text);
}

void Variant::source(std::string text) {
  detail::require_line(name_, "source", text);
  source_ = std::move(text);
}

void Variant::family(std::string text) {
  detail::require_line(name_, "family", text);
  family_ = std::move(text);
}

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

// The names of a position and of the other symbols that a part may use. `other` says what to do
// about any other name.
struct Variant::Scope {
  std::set<std::string> names;
  bool row = false;    // reads of a row
  int slices = 0;      // outputs of slices
  const char* rule;    // what the part depends on
  const char* remedy;  // where the rest belongs
};

namespace {

const std::set<std::string> query_names = {"batch", "head",  "kv_head", "q",
                                           "row",   "q_len", "kv_len"};
const std::set<std::string> key_names = {"batch", "kv_head", "k", "q_len", "kv_len"};
const std::set<std::string> pair_names = {"batch", "head", "kv_head", "q",
                                          "k",     "row",  "q_len",   "kv_len"};

std::set<std::string> with(std::set<std::string> names, const char* more) {
  names.insert(more);
  return names;
}

}  // namespace

void Variant::check_expression_(const Expr& e, const std::string& field, const Scope& scope) const {
  NameCollector names;
  e.accept(&names);
  for (const auto& [v, type] : names.variables) {
    if (v == row_calls::index && scope.row) continue;
    bool is_slice = false;
    for (int i = 0; i < scope.slices; ++i) {
      is_slice = is_slice || v == symbolic_slice(i).as<ir::Variable>()->name;
    }
    if (is_slice) continue;
    if (is_position_name(v) && scope.names.count(v) == 0) {
      throw DeclarationError(name_, field, fmt::format("built from '{}'", v), scope.rule,
                             scope.remedy);
    }
    const Parameter* p = find_parameter(v);
    if (!is_position_name(v) && !(p && p->kind == Parameter::Kind::Scalar)) {
      throw DeclarationError(name_, field, fmt::format("built from '{}'", v),
                             "an expression uses the position, the score and declared parameters",
                             fmt::format("declare it: auto {} = v.scalar<float>(\"{}\")", v, v));
    }
    // A Halide Var or Param of the same name, or a handle that belongs to another variant.
    const bool is_real = v == "score" || v == "sum";
    const Halide::Type declared = p         ? p->type
                                  : is_real ? Halide::Type(Halide::Float(32))
                                            : Halide::Type(Halide::Int(32));
    if (type != declared) {
      throw DeclarationError(name_, field,
                             fmt::format("built from '{}' of type {}", v, text_of(type)),
                             fmt::format("'{}' is {} in this variant", v, text_of(declared)),
                             p ? "use the handle that this variant's v.scalar returned"
                               : "use the fields of the Position");
    }
  }
  for (const auto& [t, read] : names.tables) {
    const Parameter* p = find_parameter(t);
    if (!(p && p->kind == Parameter::Kind::Table && p->type == read->type &&
          p->axes.size() == read->args.size())) {
      throw DeclarationError(
          name_, field, fmt::format("built from the table '{}'", t),
          "a table belongs to the variant that reads it",
          fmt::format("declare it: auto {} = v.table<float>(\"{}\", {{axis::head}})", t, t));
    }
  }
  for (const std::string& t : names.extents) {
    if (const Parameter* p = find_parameter(t); p && p->kind == Parameter::Kind::Table) continue;
    throw DeclarationError(name_, field, fmt::format("built from the extent of table '{}'", t),
                           "a table belongs to the variant that reads it",
                           "use a table that this variant declares");
  }
  if (names.reads_row && !scope.row) {
    throw DeclarationError(name_, field, "built from a row of features", scope.rule,
                           "a row is read inside the transform that it was passed to");
  }
  for (const std::string& call : names.impure) {
    throw DeclarationError(name_, field, fmt::format("built from a call of '{}'", call),
                           "a declaration reads no Func, image or state of its own",
                           "pass the data as a table: v.table<float>(name, axes)");
  }
}

Expr Variant::checked_(const std::string& field, const Scope& scope,
                       const std::function<Expr()>& part, Halide::Type type) const {
  const Expr e = declare_part(name_, field, part);
  if (!e.defined() || e.type() != type) {
    const bool mask = type.is_bool();
    throw DeclarationError(
        name_, field, e.defined() ? "of type " + text_of(e.type()) : "undefined",
        mask
            ? "a mask is a bool expression, true where the key is visible"
            : fmt::format("a {} is a float32 expression", field.substr(0, field.find_last_of(' '))),
        mask ? "compare: p.k <= p.q; a table of bool needs no comparison: allowed(p.row, p.k)"
             : "wrap integers and doubles in cast<float>(…)");
  }
  check_expression_(e, field, scope);
  return e;
}

void Variant::score(const std::function<Expr(Expr, const Position&)>& step) {
  const Scope scope = {with(pair_names, "score"), false, 0,
                       "a score step depends on the score, the position and on parameters",
                       "features are read in v.query and v.key"};
  score_steps_.push_back(checked_(
      fmt::format("score step {}", score_steps_.size() + 1), scope,
      [&] { return step(symbolic_score(), symbolic_position()); }, Halide::Float(32)));
}

void Variant::keep(const Mask& mask) {
  const Scope scope = {pair_names, false, 0,
                       "a mask depends on the position and on parameters only",
                       "a score condition belongs into v.score, as a select"};
  masks_.push_back(checked_(
      fmt::format("mask {}", masks_.size() + 1), scope, [&] { return mask(symbolic_position()); },
      Halide::Bool()));
}

void Variant::add_transform_(std::vector<Expr>& steps, const char* what, const Scope& scope,
                             const RowTransform& transform) {
  const std::string field = fmt::format("{} transform {}", what, steps.size() + 1);
  const Row row(name_, field);
  steps.push_back(checked_(
      field, scope, [&] { return transform(row, symbolic_feature(), symbolic_position()); },
      Halide::Float(32)));
}

void Variant::query(const RowTransform& transform) {
  add_transform_(query_steps_, "query",
                 {with(query_names, "d"), true, 0, "a query transform knows one query and no key",
                  "what depends on both belongs into v.score"},
                 transform);
}

void Variant::key(const RowTransform& transform) {
  add_transform_(
      key_steps_, "key",
      {with(key_names, "d"), true, 0, "a key transform knows one key of one KV head, and no query",
       "use p.k and p.kv_head; what depends on the query belongs into v.score"},
      transform);
}

void Variant::value(const RowTransform& transform) {
  add_transform_(value_steps_, "value",
                 {with(key_names, "d"), true, 0,
                  "a value transform knows one key of one KV head, and no query",
                  "use p.k and p.kv_head; what depends on the query belongs into v.output"},
                 transform);
}

void Variant::output(const RowTransform& transform) {
  add_transform_(output_steps_, "output",
                 {with(query_names, "d"), true, 0, "an output transform knows one query and no key",
                  "what depends on the key belongs into v.score or v.value"},
                 transform);
}

void Variant::normalize(const Normalizer& normalizer) {
  if (normalizer_given_) {
    throw DeclarationError(name_, "normalizer", "declared twice", "a variant has one normalizer",
                           "keep one of the calls of v.normalize");
  }
  normalizer_given_ = true;
  normalizer_ = normalizer.kind;
  const bool is_softmax = normalizer.kind == Normalizer::Kind::Softmax;
  const Position p = symbolic_position();
  if (normalizer.sink_logit) {
    if (!is_softmax) {
      throw DeclarationError(name_, "normalizer", "weights(…) with a sink",
                             "a sink joins the sum of a softmax",
                             "use softmax().sink(…), or add to the sum in divided_by");
    }
    sink_ = checked_(
        "sink logit",
        {query_names, false, 0, "a sink knows one query and no key",
         "what depends on the key belongs into v.score"},
        [&] { return normalizer.sink_logit(p); }, Halide::Float(32));
  }
  if (normalizer.divisor) {
    if (is_softmax) {
      throw DeclarationError(name_, "normalizer", "softmax() with divided_by",
                             "a softmax divides by the sum of its weights",
                             "use weights(f).divided_by(g), or v.output");
    }
    divisor_ = checked_(
        "weight divisor",
        {with(query_names, "sum"), false, 0,
         "a divisor depends on the sum of weights and one query",
         "what depends on the key belongs into the weight"},
        [&] { return normalizer.divisor(symbolic_weight_sum(), p); }, Halide::Float(32));
  }
  if (is_softmax) return;
  if (!normalizer.weight) {
    throw DeclarationError(name_, "normalizer", "weights(…) without a function",
                           "a weight is a function of the score and the position",
                           "write weights([=](Expr s, Position p) { return …; })");
  }
  weight_ = checked_(
      "weight function",
      {with(pair_names, "score"), false, 0,
       "a weight depends on the score, the position and parameters",
       "features are read in v.query and v.key"},
      [&] { return normalizer.weight(symbolic_score(), p); }, Halide::Float(32));
}

void Variant::weight_factor(const std::function<Expr(const Position&)>& factor) {
  if (weight_factor_.defined()) {
    throw DeclarationError(name_, "weight factor", "declared twice", "a variant has one",
                           "return the product of both");
  }
  weight_factor_ = checked_(
      "weight factor",
      {pair_names, false, 0, "a weight factor depends on the position and on parameters",
       "a function of the score belongs into v.score or v.normalize"},
      [&] { return factor(symbolic_position()); }, Halide::Float(32));
}

Expr Variant::symbolic_slice(int i) {
  return ir::Variable::make(Halide::Float(32), fmt::format("slice.{}", i));
}

void Variant::slices(int count, const Combine& combine) {
  if (count < 2 || count > 4) {
    throw DeclarationError(name_, "slices", fmt::format("{}", count), "2 to 4 slices of a row",
                           "leave v.slices out for plain attention");
  }
  if (combination_.defined()) {
    throw DeclarationError(name_, "slices", "declared twice", "a variant is cut once",
                           "keep one of the calls of v.slices");
  }
  std::vector<Expr> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(symbolic_slice(i));
  const Scope scope = {with(query_names, "d"), false, count,
                       "a combination knows the outputs of the slices and one query",
                       "what depends on the key belongs into v.score"};
  combination_ = checked_(
      "slice combination", scope, [&] { return combine(outputs, symbolic_position()); },
      Halide::Float(32));
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

std::string Variant::canonical_text() const {
  std::string text = fmt::format("variant {}\n", name_);
  for (const auto& p : parameters_) {
    if (p->kind == Parameter::Kind::Scalar) {
      text += fmt::format("scalar {} {} in {}{}, {}]\n", text_of(p->type), p->name,
                          p->exclusive_minimum ? "(" : "[", p->minimum, p->maximum);
    } else {
      text += fmt::format("table {} {}(", text_of(p->type), p->name);
      for (size_t i = 0; i < p->axes.size(); ++i) {
        const Axis& a = p->axes[i];
        if (i) text += ", ";
        text += a.kind == Axis::Kind::Fixed ? std::to_string(a.extent) : axis_name(a.kind);
      }
      text += ")\n";
    }
  }
  for (const Expr& e : query_steps_) text += fmt::format("query {}\n", text_of(e));
  for (const Expr& e : key_steps_) text += fmt::format("key {}\n", text_of(e));
  for (const Expr& e : value_steps_) text += fmt::format("value {}\n", text_of(e));
  for (const Expr& s : score_steps_) text += fmt::format("score {}\n", text_of(s));
  for (const Expr& m : masks_) text += fmt::format("keep {}\n", text_of(m));
  if (normalizer_ == Normalizer::Kind::Softmax) {
    text += "normalize softmax\n";
    if (sink_.defined()) text += fmt::format("sink {}\n", text_of(sink_));
  } else {
    text += fmt::format("normalize weights {}\n", text_of(weight_));
    if (divisor_.defined()) text += fmt::format("divide by {}\n", text_of(divisor_));
  }
  if (weight_factor_.defined()) text += fmt::format("factor {}\n", text_of(weight_factor_));
  if (slice_count_ > 1) text += fmt::format("slices {} {}\n", slice_count_, text_of(combination_));
  for (const Expr& e : output_steps_) text += fmt::format("output {}\n", text_of(e));
  static constexpr std::pair<Output, const char*> output_names[] = {
      {Output::Lse, "lse"},
      {Output::RowMax, "row_max"},
      {Output::RowSum, "row_sum"},
      {Output::Probabilities, "probabilities"}};
  for (const auto& [output, word] : output_names) {
    if (returns(output)) text += fmt::format("returns {}\n", word);
  }
  return text;
}

uint64_t Variant::hash() const {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : canonical_text()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

void Variant::check() const {
  NameCollector names;
  for (const std::vector<Expr>* part :
       {&score_steps_, &masks_, &query_steps_, &key_steps_, &value_steps_, &output_steps_}) {
    for (const Expr& e : *part) e.accept(&names);
  }
  for (const Expr& e : {sink_, weight_, divisor_, weight_factor_, combination_}) {
    if (e.defined()) e.accept(&names);
  }
  for (const auto& p : parameters_) {
    if (!names.variables.count({p->name, p->type}) && !names.tables.count(p->name) &&
        !names.extents.count(p->name)) {
      throw DeclarationError(name_, p->kind == Parameter::Kind::Scalar ? "scalar" : "table",
                             fmt::format("'{}', declared but not used", p->name),
                             "every parameter takes part in a step, a mask or a transform",
                             "use it, or remove its declaration");
    }
  }
  const auto refuse_output = [&](const char* output, const char* rule, const char* fix) {
    throw DeclarationError(name_, "returns", output, rule, fix);
  };
  if (normalizer_ == Normalizer::Kind::Weights) {
    if (returns(Output::Lse))
      refuse_output("lse", "a log-sum of exponentials belongs to a softmax", "return row_sum");
    if (returns(Output::RowMax))
      refuse_output("row_max", "only a softmax looks for its largest score", "return row_sum");
  }
  if (slice_count_ > 1 && !outputs_.empty()) {
    refuse_output("an extra output", "with slices there are several softmaxes for one row",
                  "leave the extra outputs out");
  }
}

}  // namespace fovea
