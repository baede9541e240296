// declaration_rules.cpp: every rule of the expressions in a declaration.
// SPDX-License-Identifier: Apache-2.0
#include "declaration_rules.h"

#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>

#include <string_view>

#include "expression_text.h"

namespace fovea::detail {
namespace {

namespace ir = Halide::Internal;

using Names = std::set<std::string>;
const Names query_names = {"batch", "head", "kv_head", "q", "row", "q_len", "kv_len"};
const Names key_names = {"batch", "kv_head", "k", "q_len", "kv_len"};

Names with(Names names, const char* more) {
  names.insert(more);
  return names;
}

const Names pair_names = with(query_names, "k");

constexpr const char* index_rule = "the index of a reduction exists inside the term only";

// Reductions away, so that what is left of their index stands outside of them.
class WithoutReductions : public ir::IRGraphMutator {
 private:
  using ir::IRGraphMutator::visit;
  Expr visit(const ir::Call* op) override {
    if (op->name == row_calls::sum || op->name == row_calls::largest) return Expr(0.0f);
    return ir::IRGraphMutator::visit(op);
  }
};

bool uses_index_outside_a_term(const Expr& e) {
  NameCollector outside;
  WithoutReductions().mutate(e).accept(&outside);
  return outside.variables.count({row_calls::index, Halide::Int(32)}) != 0;
}

// One check of one part.
class Rules {
 public:
  Rules(const Variant& variant, const std::string& field, const Scope& scope)
      : variant_(variant), field_(field), scope_(scope) {}

  void check(const Expr& e) const {
    NameCollector names;
    e.accept(&names);
    for (const auto& [name, type] : names.variables) check_variable_(name, type);
    for (const auto& [table, read] : names.tables) check_table_(table, *read);
    for (const std::string& table : names.extents) check_extent_(table);
    if (names.reads_row && !scope_.reads_row) {
      refuse("built from a row of features", scope_.rule,
             "a row is read inside the transform that it was passed to");
    }
    if (uses_index_outside_a_term(e)) {
      refuse("built from the index of a row reduction outside of it", index_rule,
             "read the row at d, or move the expression into the term");
    }
    for (const std::string& call : names.impure) {
      refuse(fmt::format("built from a call of '{}'", call),
             "a declaration reads no Func, image or state of its own",
             "pass the data as a table: v.table<float>(name, axes)");
    }
  }

  [[noreturn]] void refuse(const std::string& value, const std::string& rule,
                           const std::string& fix) const {
    throw DeclarationError(variant_.name(), field_, value, rule, fix);
  }

 private:
  void check_variable_(const std::string& name, Halide::Type type) const {
    if (name == row_calls::index && scope_.reads_row) return;  // see uses_index_outside_a_term
    if (name == row_calls::index) {
      refuse("built from the index of a row reduction", index_rule,
             "a row is read inside the transform that it was passed to");
    }
    if (name.starts_with("slice.")) return check_slice_(name);
    if (is_position_name(name) && scope_.names.count(name) == 0) {
      refuse(fmt::format("built from '{}'", name), scope_.rule, remedy_(name));
    }
    const Parameter* p = variant_.find_parameter(name);
    const bool is_scalar = p != nullptr && p->kind == Parameter::Kind::Scalar;
    if (!is_position_name(name) && !is_scalar) {
      refuse(fmt::format("built from '{}'", name),
             "an expression uses the position, the score and declared parameters",
             fmt::format("declare it: auto {} = v.scalar<float>(\"{}\")", name, name));
    }
    // A Halide Var or Param of the same name, or a handle that belongs to another variant.
    const Halide::Type declared = is_scalar                          ? p->type
                                  : name == "score" || name == "sum" ? Halide::Float(32)
                                                                     : Halide::Int(32);
    if (type != declared) {
      refuse(fmt::format("built from '{}' of type {}", name, text_of(type)),
             fmt::format("'{}' is {} in this variant", name, text_of(declared)),
             is_scalar ? "use the handle that this variant's v.scalar returned"
                       : "use the fields of the Position");
    }
  }

  void check_slice_(const std::string& name) const {
    for (int i = 0; i < scope_.slices; ++i) {
      if (name == fmt::format("slice.{}", i)) return;
    }
    refuse("built from the output of a slice", scope_.rule,
           "outputs of slices are read inside the function passed to v.slices");
  }

  const char* remedy_(const std::string& name) const {
    if (name == "score") {
      return "what depends on the score belongs into v.score, a condition on it as a select";
    }
    if (name == "d") return "features are read in v.query, v.key, v.value and v.output";
    if (name == "sum") return "the sum of weights is read inside the function of divided_by";
    return scope_.remedy;
  }

  void check_table_(const std::string& table, const ir::Call& read) const {
    const Parameter* p = variant_.find_parameter(table);
    if (p != nullptr && p->kind == Parameter::Kind::Table && p->type == read.type &&
        p->axes.size() == read.args.size()) {
      return;
    }
    refuse(
        fmt::format("built from the table '{}'", table),
        "a table belongs to the variant that reads it",
        fmt::format("declare it: auto {} = v.table<float>(\"{}\", {{axis::head}})", table, table));
  }

  void check_extent_(const std::string& table) const {
    const Parameter* p = variant_.find_parameter(table);
    if (p != nullptr && p->kind == Parameter::Kind::Table) return;
    refuse(fmt::format("built from the extent of the table '{}'", table),
           "a table belongs to the variant that reads it",
           "use the handle that this variant's v.table returned");
  }

  const Variant& variant_;
  const std::string& field_;
  const Scope& scope_;
};

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

const Scope query_scope = {
    "a query transform", with(query_names, "d"), "a query transform knows one query and no key",
    "what depends on the key belongs into v.key, on both into v.score", true};
const Scope key_scope = {"a key transform", with(key_names, "d"),
                         "a key transform knows one key of one KV head and no query",
                         "use p.k and p.kv_head; what depends on the query belongs into v.score",
                         true};
const Scope value_scope = {
    "a value transform", with(key_names, "d"),
    "a value transform knows one key of one KV head and no query",
    "use p.k and p.kv_head; what depends on the query belongs into v.output, on both into "
    "v.weight_factor",
    true};
const Scope output_scope = {"an output transform", with(query_names, "d"),
                            "an output transform knows one query and no key",
                            "what depends on the key belongs into v.value, on both into "
                            "v.weight_factor",
                            true};
const Scope score_scope = {"a score step", with(pair_names, "score"),
                           "a score step depends on the score, the position and on parameters", ""};
const Scope mask_scope = {"a mask", pair_names,
                          "a mask depends on the position and on parameters only", ""};
const Scope sink_scope = {"a sink logit", query_names, "a sink logit knows one query and no key",
                          "what depends on the key belongs into v.score"};
const Scope weight_scope = {"a weight", with(pair_names, "score"),
                            "a weight depends on the score, the position and on parameters", ""};
const Scope divisor_scope = {"a divisor", with(query_names, "sum"),
                             "a divisor depends on the sum of weights and on one query",
                             "what depends on the key belongs into the weight"};
const Scope factor_scope = {"a weight factor", pair_names,
                            "a weight factor depends on the position and on parameters only", ""};

Scope combination_scope(int slices) {
  return {"a combination",
          with(query_names, "d"),
          "a combination knows the outputs of the slices and one query",
          "what depends on the key belongs into v.score",
          false,
          slices};
}

Expr checked_part(const Variant& variant, const std::string& field, const Scope& scope,
                  Halide::Type type, const std::function<Expr()>& part) {
  const Rules rules(variant, field, scope);
  Expr e;
  try {
    e = part();
  } catch (const Halide::Error& error) {
    rules.refuse("not a valid expression", without_line_end(error.what()),
                 "compare and combine expressions of one type");
  } catch (const std::bad_function_call&) {
    rules.refuse("an empty function", fmt::format("{} is made by a function", scope.noun),
                 "pass a lambda");
  }
  if (!e.defined() || e.type() != type) {
    const std::string value = type_phrase(e);
    if (type.is_bool()) {
      rules.refuse(value, "a mask is a bool expression, true where the key is visible",
                   "compare: p.k <= p.q, or allowed(p.q, p.k) != 0 with a table of int; a table "
                   "of bool needs no comparison");
    }
    rules.refuse(value, fmt::format("{} is a float32 expression", scope.noun),
                 "wrap integers and doubles in cast<float>(…), and choose between numbers with "
                 "select(condition, a, b)");
  }
  rules.check(e);
  return e;
}

void NameCollector::visit(const ir::Variable* op) { variables.emplace(op->name, op->type); }

void NameCollector::visit(const ir::Call* op) {
  const std::string_view name = op->name;
  if (op->call_type == ir::Call::PureExtern && name.starts_with(table_prefix)) {
    tables.emplace(name.substr(std::string_view(table_prefix).size()), op);
  } else if (op->call_type == ir::Call::PureExtern && name.starts_with(extent_prefix)) {
    extents.emplace(name.substr(std::string_view(extent_prefix).size()));
  } else if (op->call_type == ir::Call::PureExtern && name.starts_with(row_calls::prefix)) {
    reads_row = true;
  } else if (op->call_type == ir::Call::Halide || op->call_type == ir::Call::Image ||
             op->is_intrinsic({ir::Call::random, ir::Call::undef}) || !op->is_pure()) {
    // Halide counts random numbers and undefined values among the pure intrinsics.
    impure.insert(op->name);
  }
  ir::IRGraphVisitor::visit(op);
}

}  // namespace fovea::detail
