// expression_text.cpp: from Halide's nodes to infix text, by precedence.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/expression_text.h"

#include <fmt/format.h>
#include <fovea/dsl/normalizer.h>
#include <fovea/dsl/row.h>
#include <fovea/dsl/variant.h>

#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// From what binds least to what binds most.
enum Precedence {
  Choice,
  Or,
  And,
  Comparison,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Sum,
  Product,
  Sign,
  Power,
  Primary
};

struct Text {
  std::string text;
  Precedence precedence = Primary;
};

bool is_zero(const Expr& e) { return ir::is_const_zero(e); }

bool is_call(const Expr& e, std::string_view name) {
  const auto* call = e.as<ir::Call>();
  return call && call->call_type == ir::Call::PureExtern && call->name == name;
}

const ir::Call* as_table(const Expr& e) {
  const auto* call = e.as<ir::Call>();
  return call && call->call_type == ir::Call::PureExtern && call->name.starts_with(table_prefix)
             ? call
             : nullptr;
}

Expr without_cast(Expr e) {
  while (const auto* cast = e.as<ir::Cast>()) e = cast->value;
  return e;
}

// A conversion after which the number is the same, as far as a reader cares: integers to a float,
// to a wider integer, a float to a wider one.
bool keeps_the_number(Halide::Type to, Halide::Type from) {
  if (from.is_bool()) return false;
  if (to.is_float()) return !from.is_float() || from.bits() <= to.bits();
  if (to.is_bool() || from.is_float()) return false;
  if (to.is_int()) return from.is_int() ? from.bits() <= to.bits() : from.bits() < to.bits();
  return from.is_uint() && from.bits() <= to.bits();
}

std::string number_text(double value, int bits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return bits == 32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

std::string_view function_name(std::string_view name) {
  for (const std::string_view suffix : {"_f16", "_f32", "_f64"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

class Printer {
 public:
  explicit Printer(const TextNames& names) : names_(names) {}

  Text print(const Expr& e) {
    switch (e.node_type()) {
      case ir::IRNodeType::IntImm:
        return signed_text_(std::to_string(e.as<ir::IntImm>()->value));
      case ir::IRNodeType::UIntImm:
        if (e.type().is_bool()) return {e.as<ir::UIntImm>()->value ? "true" : "false"};
        return {std::to_string(e.as<ir::UIntImm>()->value)};
      case ir::IRNodeType::FloatImm:
        return signed_text_(number_text(e.as<ir::FloatImm>()->value, e.type().bits()));
      case ir::IRNodeType::Variable:
        return {variable_(e.as<ir::Variable>()->name)};
      case ir::IRNodeType::Cast:
        return cast_(e.type(), e.as<ir::Cast>()->value);
      case ir::IRNodeType::Reinterpret:
        return {fmt::format("bits({})", print(e.as<ir::Reinterpret>()->value).text)};
      case ir::IRNodeType::Add:
        return sum_(e.as<ir::Add>()->a, e.as<ir::Add>()->b, false);
      case ir::IRNodeType::Sub:
        return sum_(e.as<ir::Sub>()->a, e.as<ir::Sub>()->b, true);
      case ir::IRNodeType::Mul:
        return product_(e.as<ir::Mul>()->a, e.as<ir::Mul>()->b);
      case ir::IRNodeType::Div:
        return quotient_(e);
      case ir::IRNodeType::Mod:
        return infix_(e.as<ir::Mod>()->a, "mod", e.as<ir::Mod>()->b, Product, false);
      case ir::IRNodeType::Min:
        return function_("min", {e.as<ir::Min>()->a, e.as<ir::Min>()->b});
      case ir::IRNodeType::Max:
        return max_(*e.as<ir::Max>());
      case ir::IRNodeType::EQ:
        return equality_(e.as<ir::EQ>()->a, e.as<ir::EQ>()->b, true);
      case ir::IRNodeType::NE:
        return equality_(e.as<ir::NE>()->a, e.as<ir::NE>()->b, false);
      case ir::IRNodeType::LT:
        return compare_(e.as<ir::LT>()->a, "<", e.as<ir::LT>()->b);
      case ir::IRNodeType::LE:
        return compare_(e.as<ir::LE>()->a, "<=", e.as<ir::LE>()->b);
      case ir::IRNodeType::GT:
        return compare_(e.as<ir::GT>()->a, ">", e.as<ir::GT>()->b);
      case ir::IRNodeType::GE:
        return compare_(e.as<ir::GE>()->a, ">=", e.as<ir::GE>()->b);
      case ir::IRNodeType::And:
        return infix_(e.as<ir::And>()->a, "&&", e.as<ir::And>()->b, And, true);
      case ir::IRNodeType::Or:
        return infix_(e.as<ir::Or>()->a, "||", e.as<ir::Or>()->b, Or, true);
      case ir::IRNodeType::Not:
        return {"!" + inside_(print(e.as<ir::Not>()->a), Sign), Sign};
      case ir::IRNodeType::Select:
        return choice_(e.as<ir::Select>()->condition, e.as<ir::Select>()->true_value,
                       e.as<ir::Select>()->false_value);
      case ir::IRNodeType::Call:
        return call_(*e.as<ir::Call>());
      default: {
        // Nodes that no declaration can hold; shown as Halide shows them.
        std::ostringstream out;
        out << e;
        return {out.str(), Choice};
      }
    }
  }

 private:
  static Text signed_text_(std::string text) {
    return {text, text.starts_with('-') ? Sign : Primary};
  }

  // In parentheses if it binds less than its place demands.
  static std::string inside_(const Text& t, Precedence least) {
    return t.precedence < least ? fmt::format("({})", t.text) : t.text;
  }

  std::string variable_(const std::string& name) const {
    if (name == row_calls::index) return names_.index;
    constexpr std::string_view slice = "slice.";
    if (name.starts_with(slice)) return fmt::format("o[{}]", name.substr(slice.size()));
    // Variables of the tile analysis.
    constexpr std::string_view tile = "tile.";
    return name.starts_with(tile) ? name.substr(tile.size()) : name;
  }

  std::string list_(const std::vector<Expr>& arguments) {
    std::string text;
    for (const Expr& a : arguments) text += (text.empty() ? "" : ", ") + print(a).text;
    return text;
  }

  Text function_(std::string_view name, const std::vector<Expr>& arguments) {
    return {fmt::format("{}({})", name, list_(arguments))};
  }

  // associative: a op (b op c) needs no parentheses.
  Text infix_(const Expr& a, std::string_view sign, const Expr& b, Precedence precedence,
              bool associative) {
    const Precedence right =
        associative ? precedence : static_cast<Precedence>(static_cast<int>(precedence) + 1);
    std::string r = inside_(print(b), right);
    if (r.starts_with('-')) r = fmt::format("({})", r);
    return {fmt::format("{} {} {}", inside_(print(a), precedence), sign, r), precedence};
  }

  Text compare_(const Expr& a, std::string_view sign, const Expr& b) {
    // Comparisons do not chain: both sides bind more.
    return {fmt::format("{} {} {}", inside_(print(a), BitOr), sign, inside_(print(b), BitOr)),
            Comparison};
  }

  // Entries of a table of bool are compared with 0 to become conditions.
  Text equality_(const Expr& a, const Expr& b, bool equal) {
    const ir::Call* table = as_table(a);
    if (table && table->type == Halide::UInt(8) && is_zero(b)) {
      return equal ? Text{"!" + print(a).text, Sign} : print(a);
    }
    return compare_(a, equal ? "==" : "!=", b);
  }

  Text sum_(const Expr& a, const Expr& b, bool minus) {
    if (minus && is_zero(a)) return {"-" + inside_(print(b), Sign), Sign};
    // a + -2 and a - -2 come from constants that were folded.
    if (const std::string text = print(b).text;
        ir::is_const(without_cast(b)) && text.starts_with('-')) {
      return {fmt::format("{} {} {}", inside_(print(a), Sum), minus ? '+' : '-', text.substr(1)),
              Sum};
    }
    // Sums of reals are computed in the order shown.
    return infix_(a, minus ? "-" : "+", b, Sum, !minus && a.type().is_int());
  }

  Text product_(const Expr& a, const Expr& b) {
    if (ir::equal(a, b) && !ir::is_const(a)) return {inside_(print(a), Primary) + "^2", Power};
    if (ir::is_const(b, -1)) return {"-" + inside_(print(a), Sign), Sign};
    return infix_(a, "*", b, Product, a.type().is_int() && b.as<ir::Mul>() != nullptr);
  }

  Text quotient_(const Expr& e) {
    const Expr &a = e.as<ir::Div>()->a, &b = e.as<ir::Div>()->b;
    if (!e.type().is_float()) return infix_(a, "div", b, Product, false);
    if (const std::optional<Expr> x = sigmoid_of_(e)) return function_("sigmoid", {*x});
    if (is_call(a, row_calls::sum) && is_call(without_cast(b), row_calls::size)) {
      return reduction_("mean", a.as<ir::Call>()->args[0]);
    }
    return infix_(a, "/", b, Product, false);
  }

  // The argument of fovea::sigmoid, which is written so that it overflows nowhere.
  static std::optional<Expr> sigmoid_of_(const Expr& e) {
    const auto* choice = e.as<ir::Div>()->a.as<ir::Select>();
    const auto* sign = choice ? choice->condition.as<ir::GE>() : nullptr;
    if (!sign || !ir::equal(e, sigmoid(sign->a))) return std::nullopt;
    return sign->a;
  }

  // clamp(x, low, high) is max(min(x, high), low).
  Text max_(const ir::Max& e) {
    if (const auto* inner = e.a.as<ir::Min>()) return function_("clamp", {inner->a, e.b, inner->b});
    return function_("max", {e.a, e.b});
  }

  Text choice_(const Expr& condition, const Expr& yes, const Expr& no) {
    const auto* nested = no.as<ir::Select>();
    // a if x else b if y else c reads from left to right.
    return {fmt::format("{} if {} else {}", inside_(print(yes), Or), inside_(print(condition), Or),
                        nested ? print(no).text : inside_(print(no), Or)),
            Choice};
  }

  Text cast_(Halide::Type to, const Expr& value) {
    const Halide::Type from = value.type();
    if (from.is_bool()) return choice_(value, ir::make_one(to), ir::make_zero(to));
    if (keeps_the_number(to, from)) return print(value);
    const std::string_view kind = to.is_float() ? "float" : to.is_int() ? "int" : "uint";
    return function_(to.bits() == 32 ? std::string(kind) : fmt::format("{}{}", kind, to.bits()),
                     {value});
  }

  Text reduction_(std::string_view name, const Expr& term) {
    return {fmt::format("{}_{}({})", name, names_.index, print(term).text)};
  }

  Text call_(const ir::Call& call) {
    const std::vector<Expr>& args = call.args;
    if (call.is_intrinsic()) return intrinsic_(call);
    const std::string_view name = call.name;
    if (name.starts_with(table_prefix)) {
      return {
          fmt::format("{}[{}]", name.substr(std::string_view(table_prefix).size()), list_(args))};
    }
    if (name.starts_with(extent_prefix)) {
      const std::string_view table = name.substr(std::string_view(extent_prefix).size());
      return {is_zero(args[0]) ? fmt::format("extent({})", table)
                               : fmt::format("extent({}, {})", table, print(args[0]).text)};
    }
    if (name == row_calls::entry) {
      return {fmt::format("{}[{}]", names_.row, print(args[0]).text)};
    }
    if (name == row_calls::size) return {fmt::format("size({})", names_.row)};
    if (name == row_calls::sum) return reduction_("sum", args[0]);
    if (name == row_calls::largest) return reduction_("max", args[0]);
    if (function_name(name) == "pow") {
      return {
          fmt::format("{}^{}", inside_(print(args[0]), Primary), inside_(print(args[1]), Primary)),
          Power};
    }
    return function_(function_name(name), args);
  }

  Text intrinsic_(const ir::Call& call) {
    const std::vector<Expr>& args = call.args;
    if (call.is_intrinsic({ir::Call::likely, ir::Call::likely_if_innermost,
                           ir::Call::promise_clamped, ir::Call::unsafe_promise_clamped})) {
      return print(args[0]);
    }
    if (call.is_intrinsic(ir::Call::return_second)) return print(args[1]);
    if (call.is_intrinsic(ir::Call::if_then_else) && args.size() == 3) {
      return choice_(args[0], args[1], args[2]);
    }
    if (call.is_intrinsic(ir::Call::absd)) {
      return {fmt::format("abs({})", sum_(args[0], args[1], true).text)};
    }
    if (call.is_intrinsic({ir::Call::strict_add, ir::Call::strict_sub})) {
      return sum_(args[0], args[1], call.is_intrinsic(ir::Call::strict_sub));
    }
    if (call.is_intrinsic(ir::Call::bitwise_not)) {
      return {"~" + inside_(print(args[0]), Sign), Sign};
    }
    struct Infix {
      ir::Call::IntrinsicOp operation;
      const char* sign;
      Precedence precedence;
      bool associative;
    };
    static constexpr Infix infix[] = {
        {ir::Call::strict_mul, "*", Product, false},  {ir::Call::strict_div, "/", Product, false},
        {ir::Call::shift_left, "<<", Shift, false},   {ir::Call::shift_right, ">>", Shift, false},
        {ir::Call::bitwise_and, "&", BitAnd, true},   {ir::Call::bitwise_or, "|", BitOr, true},
        {ir::Call::bitwise_xor, "xor", BitXor, true},
    };
    for (const Infix& i : infix) {
      if (call.is_intrinsic(i.operation))
        return infix_(args[0], i.sign, args[1], i.precedence, i.associative);
    }
    static constexpr std::pair<ir::Call::IntrinsicOp, const char*> comparisons[] = {
        {ir::Call::strict_eq, "=="}, {ir::Call::strict_lt, "<"}, {ir::Call::strict_le, "<="}};
    for (const auto& [operation, sign] : comparisons) {
      if (call.is_intrinsic(operation)) return compare_(args[0], sign, args[1]);
    }
    if (call.is_intrinsic(ir::Call::strict_min)) return function_("min", args);
    if (call.is_intrinsic(ir::Call::strict_max)) return function_("max", args);
    return function_(call.name, args);
  }

  TextNames names_;
};

// How long the text would be, without writing it; stops when that is clear.
constexpr int most_nodes = 400;
class Size : public ir::IRVisitor {
 public:
  int nodes = 0;
  void count(const Expr& e) { e.accept(this); }

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Variable*) override { ++nodes; }
  void visit(const ir::IntImm*) override { ++nodes; }
  void visit(const ir::UIntImm*) override { ++nodes; }
  void visit(const ir::FloatImm*) override { ++nodes; }
  void visit(const ir::Add* op) override { both_(op); }
  void visit(const ir::Sub* op) override { both_(op); }
  void visit(const ir::Mul* op) override { both_(op); }
  void visit(const ir::Call* op) override {
    if (++nodes <= most_nodes) ir::IRVisitor::visit(op);
  }
  template <typename Node>
  void both_(const Node* op) {
    if (++nodes <= most_nodes) ir::IRVisitor::visit(op);
  }
};

}  // namespace

std::string expression_text(const Expr& e, const TextNames& names) {
  const Expr whole = ir::substitute_in_all_lets(e);
  // A hash of many rounds, written out, would fill books: what occurs again gets a name.
  Size size;
  size.count(whole);
  if (size.nodes <= most_nodes) return Printer(names).print(whole).text;
  Expr body = ir::common_subexpression_elimination(whole);
  std::vector<std::pair<std::string, Expr>> parts;
  std::map<std::string, Expr> short_names;
  while (const auto* let = body.as<ir::Let>()) {
    const std::string name = fmt::format("t{}", parts.size() + 1);
    parts.emplace_back(name, ir::substitute(short_names, let->value));
    short_names[let->name] = ir::Variable::make(let->value.type(), name);
    body = let->body;
  }
  std::string text = Printer(names).print(ir::substitute(short_names, body)).text;
  for (const auto& [name, value] : parts) {
    text += fmt::format("{} {} = {}", name == "t1" ? ", where" : ",", name,
                        Printer(names).print(value).text);
  }
  return text;
}

}  // namespace fovea
