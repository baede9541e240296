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
  std::set<std::string> impure;  // calls a declaration cannot contain

 private:
  using ir::IRGraphVisitor::visit;
  void visit(const ir::Variable* op) override { variables.emplace(op->name, op->type); }
  void visit(const ir::Call* op) override {
    const std::string_view name = op->name;
    if (op->call_type == ir::Call::PureExtern && name.starts_with(table_prefix)) {
      tables.emplace(name.substr(std::string_view(table_prefix).size()), op);
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
  // It becomes part of comments in generated C and C++.
  const bool control =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32; });
  if (control || text.find("*/") != std::string::npos || text.find("/*") != std::string::npos ||
      text.ends_with('\\')) {
    throw DeclarationError(name_, "summary", fmt::format("'{}'", text),
                           "one line of text that can stand inside a comment",
                           "leave out line breaks, tabs, comment marks and a backslash at the end");
  }
  summary_ = std::move(text);
}

std::shared_ptr<Parameter> Variant::add_parameter_(const std::string& name, Parameter::Kind kind,
                                                   Halide::Type type, std::vector<Axis> axes) {
  const std::string field = kind == Parameter::Kind::Scalar ? "scalar" : "table";
  if (const std::string why = why_not_identifier(name); !why.empty()) {
    throw DeclarationError(name_, field + " name", fmt::format("'{}'", name), why,
                           "choose a name like softcap");
  }
  if (is_position_name(name)) {
    throw DeclarationError(
        name_, field + " name", fmt::format("'{}'", name),
        "batch, head, kv_head, q, k, q_len, kv_len and score name the position and the score",
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
  parameter->type = type;
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

void Variant::check_expression_(const Expr& e, const std::string& field, bool score_allowed) const {
  NameCollector names;
  e.accept(&names);
  for (const auto& [v, type] : names.variables) {
    if (v == "score" && !score_allowed) {
      throw DeclarationError(name_, field, "built from the score",
                             "a mask depends on the position and on parameters only",
                             "a score condition belongs into v.score, as a select");
    }
    const Parameter* p = find_parameter(v);
    if (!is_position_name(v) && !(p && p->kind == Parameter::Kind::Scalar)) {
      throw DeclarationError(name_, field, fmt::format("built from '{}'", v),
                             "an expression uses the position, the score and declared parameters",
                             fmt::format("declare it: auto {} = v.scalar<float>(\"{}\")", v, v));
    }
    // A Halide Var or Param of the same name, or a handle that belongs to another variant.
    const Halide::Type declared =
        p ? p->type : Halide::Type(v == "score" ? Halide::Float(32) : Halide::Int(32));
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
  for (const std::string& call : names.impure) {
    throw DeclarationError(name_, field, fmt::format("built from a call of '{}'", call),
                           "a declaration reads no Func, image or state of its own",
                           "pass the data as a table: v.table<float>(name, axes)");
  }
}

void Variant::score(const std::function<Expr(Expr, const Position&)>& step) {
  const std::string field = fmt::format("score step {}", score_steps_.size() + 1);
  const Expr e =
      declare_part(name_, field, [&] { return step(symbolic_score(), symbolic_position()); });
  if (!e.defined() || e.type() != Halide::Float(32)) {
    throw DeclarationError(name_, field, e.defined() ? "of type " + text_of(e.type()) : "undefined",
                           "a score step maps a float32 score to a float32 score",
                           "wrap integers and doubles in cast<float>(…)");
  }
  check_expression_(e, field, true);
  score_steps_.push_back(e);
}

void Variant::keep(const Mask& mask) {
  const std::string field = fmt::format("mask {}", masks_.size() + 1);
  const Expr e = declare_part(name_, field, [&] { return mask(symbolic_position()); });
  if (!e.defined() || !e.type().is_bool()) {
    throw DeclarationError(name_, field, e.defined() ? "of type " + text_of(e.type()) : "undefined",
                           "a mask is a bool expression, true where the key is visible",
                           "compare: p.k <= p.q; a table of 0 and 1: allowed(p.q, p.k) != 0");
  }
  check_expression_(e, field, false);
  masks_.push_back(e);
}

void Variant::returns(Output output) {
  switch (output) {
    case Output::Lse:
      returns_lse_ = true;
      return;
  }
}

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
  for (const Expr& s : score_steps_) text += fmt::format("score {}\n", text_of(s));
  for (const Expr& m : masks_) text += fmt::format("keep {}\n", text_of(m));
  text += "normalize softmax\n";
  if (returns_lse_) text += "returns lse\n";
  return text;
}

uint64_t Variant::hash() const {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : canonical_text()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

void Variant::check() const {
  NameCollector names;
  for (const Expr& e : score_steps_) e.accept(&names);
  for (const Expr& e : masks_) e.accept(&names);
  for (const auto& p : parameters_) {
    if (!names.variables.count({p->name, p->type}) && !names.tables.count(p->name)) {
      throw DeclarationError(name_, p->kind == Parameter::Kind::Scalar ? "scalar" : "table",
                             fmt::format("'{}', declared but not used", p->name),
                             "every parameter takes part in a score step or a mask",
                             "use it, or remove its declaration");
    }
  }
}

}  // namespace fovea
