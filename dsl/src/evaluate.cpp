// evaluate.cpp: the interpreter's nodes: constants, variables, casts, arithmetic, comparisons,
// selects. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/half_precision.h>
#include <fovea/dsl/row.h>

#include <bit>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "evaluator.h"
#include "lane_arithmetic.h"

namespace fovea {
namespace detail {
namespace {

using Halide::Type;
using Halide::Internal::IRNodeType;

// An explicit conversion to a 16-bit type is part of the formula and is carried out; between the
// wider ones Real stays. (Integers are rounded to every type, see evaluate.h.)
template <typename Real>
Real round_to(Type type, Real x) {
  if (type.bits() != 16) return x;
  return rounded_to(type.is_bfloat() ? FOVEA_BF16 : FOVEA_F16, static_cast<float>(x));
}

template <typename Real>
Lanes<Real> integers(std::vector<int64_t> values) {
  return {false, {}, std::move(values)};
}

template <typename Real>
Lanes<Real> reals(std::vector<Real> values) {
  return {true, std::move(values), {}};
}

}  // namespace

void refuse_operation(const std::string& operation) {
  throw std::invalid_argument(
      "fovea: '" + operation +
      "' cannot be used in a declaration: the reference that checks every kernel "
      "does not define it");
}

template <typename Real>
const Lanes<Real>& Evaluator<Real>::value(const Expr& e) {
  if (!e.defined()) throw std::invalid_argument("fovea: an undefined expression has no value");
  if (const auto* variable = e.as<Halide::Internal::Variable>()) return variable_(*variable);
  const auto known = values_.find(e.get());
  if (known != values_.end()) return known->second;
  if (!e.type().is_scalar()) refuse_operation("vector of " + std::to_string(e.type().lanes()));
  Lanes<Real> result = node_(e);
  return values_.emplace(e.get(), std::move(result)).first->second;
}

template <typename Real>
const Lanes<Real>& Evaluator<Real>::variable_(const Halide::Internal::Variable& variable) {
  if (!row_index_.integers.empty() && variable.name == row_calls::index) return row_index_;
  const auto found = environment_.variables.find(variable.name);
  if (found == environment_.variables.end()) {
    throw std::invalid_argument("fovea: variable '" + variable.name + "' has no value here");
  }
  const Lanes<Real>& lanes = found->second;
  const size_t size = lanes.is_real ? lanes.reals.size() : lanes.integers.size();
  if (lanes.is_real != variable.type.is_float()) {
    throw std::invalid_argument("fovea: variable '" + variable.name + "' is " +
                                (lanes.is_real ? "given as a real number" : "given as an integer") +
                                " but used as the other kind");
  }
  if (size != 1 && size != lanes_) {
    throw std::invalid_argument("fovea: variable '" + variable.name + "' has " +
                                std::to_string(size) + " values for " + std::to_string(lanes_) +
                                " lanes");
  }
  return lanes;
}

template <typename Real>
Lanes<Real> Evaluator<Real>::node_(const Expr& e) {
  using namespace Halide::Internal;  // the node types
  const auto both = [&](const auto* n) { return binary_(n->node_type, n->a, n->b); };
  switch (e.node_type()) {
    case IRNodeType::IntImm:
      return Lanes<Real>::integer(e.as<IntImm>()->value);
    case IRNodeType::UIntImm:
      return Lanes<Real>::integer(static_cast<int64_t>(e.as<UIntImm>()->value));
    case IRNodeType::FloatImm:
      return Lanes<Real>::real(static_cast<Real>(e.as<FloatImm>()->value));
    case IRNodeType::Cast:
      return cast_(e.type(), e.as<Cast>()->value);
    case IRNodeType::Reinterpret:
      return reinterpret_(e.type(), e.as<Reinterpret>()->value);
    case IRNodeType::Add:
      return both(e.as<Add>());
    case IRNodeType::Sub:
      return both(e.as<Sub>());
    case IRNodeType::Mul:
      return both(e.as<Mul>());
    case IRNodeType::Div:
      return both(e.as<Div>());
    case IRNodeType::Mod:
      return both(e.as<Mod>());
    case IRNodeType::Min:
      return both(e.as<Min>());
    case IRNodeType::Max:
      return both(e.as<Max>());
    case IRNodeType::EQ:
      return both(e.as<EQ>());
    case IRNodeType::NE:
      return both(e.as<NE>());
    case IRNodeType::LT:
      return both(e.as<LT>());
    case IRNodeType::LE:
      return both(e.as<LE>());
    case IRNodeType::GT:
      return both(e.as<GT>());
    case IRNodeType::GE:
      return both(e.as<GE>());
    case IRNodeType::And:
      return logical_(IRNodeType::And, e.as<And>()->a, e.as<And>()->b);
    case IRNodeType::Or:
      return logical_(IRNodeType::Or, e.as<Or>()->a, e.as<Or>()->b);
    case IRNodeType::Not:
      return integers<Real>(map_lanes<int64_t>(value(e.as<Not>()->a).integers,
                                               [](int64_t a) { return int64_t{a == 0}; }));
    case IRNodeType::Select:
      return select_(e.as<Select>()->condition, e.as<Select>()->true_value,
                     e.as<Select>()->false_value);
    case IRNodeType::Call:
      return call_(*e.as<Call>());
    case IRNodeType::Let:
      // Remembering values by node is only right where a name has one meaning, so the names are
      // replaced first.
      without_lets_.push_back(substitute_in_all_lets(e));
      return value(Expr(without_lets_.back()));
    default: {
      std::ostringstream name;
      name << e.node_type();
      refuse_operation(name.str());
    }
  }
}

template <typename Real>
Lanes<Real> Evaluator<Real>::binary_(IRNodeType operation, const Expr& a, const Expr& b) {
  const Lanes<Real>& left = value(a);
  const Lanes<Real>& right = value(b);
  return left.is_real ? real_binary_(operation, left, right)
                      : integer_binary_(operation, a.type(), left, right);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::logical_(IRNodeType operation, const Expr& a, const Expr& b) {
  const std::vector<int64_t>& left = value(a).integers;
  const std::vector<int64_t>& right = value(b).integers;
  return integers<Real>(
      operation == IRNodeType::And
          ? map_lanes<int64_t>(left, right, [](int64_t x, int64_t y) { return x & y; })
          : map_lanes<int64_t>(left, right, [](int64_t x, int64_t y) { return x | y; }));
}

template <typename Real>
Lanes<Real> Evaluator<Real>::real_binary_(IRNodeType operation, const Lanes<Real>& a,
                                          const Lanes<Real>& b) {
  const auto real = [&](auto f) { return reals<Real>(map_lanes<Real>(a.reals, b.reals, f)); };
  const auto truth = [&](auto f) {
    return integers<Real>(map_lanes<int64_t>(
        a.reals, b.reals, [f](Real x, Real y) { return static_cast<int64_t>(f(x, y)); }));
  };
  switch (operation) {
    case IRNodeType::Add:
      return real([](Real x, Real y) { return x + y; });
    case IRNodeType::Sub:
      return real([](Real x, Real y) { return x - y; });
    case IRNodeType::Mul:
      return real([](Real x, Real y) { return x * y; });
    case IRNodeType::Div:
      return real([](Real x, Real y) { return x / y; });
    case IRNodeType::Mod:
      return real([](Real x, Real y) { return x - y * std::floor(x / y); });
    // Halide leaves open which operand wins over a NaN. The contract does not: a NaN that a row
    // sees reaches it.
    case IRNodeType::Min:
      return real([](Real x, Real y) { return std::isnan(x) || x < y ? x : y; });
    case IRNodeType::Max:
      return real([](Real x, Real y) { return std::isnan(x) || x > y ? x : y; });
    case IRNodeType::EQ:
      return truth([](Real x, Real y) { return x == y; });
    case IRNodeType::NE:
      return truth([](Real x, Real y) { return x != y; });
    case IRNodeType::LT:
      return truth([](Real x, Real y) { return x < y; });
    case IRNodeType::LE:
      return truth([](Real x, Real y) { return x <= y; });
    case IRNodeType::GT:
      return truth([](Real x, Real y) { return x > y; });
    case IRNodeType::GE:
      return truth([](Real x, Real y) { return x >= y; });
    default:
      refuse_operation("logical operation on floats");
  }
}

template <typename Real>
Lanes<Real> Evaluator<Real>::integer_binary_(IRNodeType operation, Type type, const Lanes<Real>& a,
                                             const Lanes<Real>& b) {
  const IntegerRules rules(type);
  const auto map = [&](auto f) {
    return integers<Real>(map_lanes<int64_t>(a.integers, b.integers, [f](int64_t x, int64_t y) {
      return static_cast<int64_t>(f(x, y));
    }));
  };
  switch (operation) {
    case IRNodeType::Add:
      return map([=](int64_t x, int64_t y) { return rules.add(x, y); });
    case IRNodeType::Sub:
      return map([=](int64_t x, int64_t y) { return rules.subtract(x, y); });
    case IRNodeType::Mul:
      return map([=](int64_t x, int64_t y) { return rules.multiply(x, y); });
    case IRNodeType::Div:
      return map([=](int64_t x, int64_t y) { return rules.divide(x, y); });
    case IRNodeType::Mod:
      return map([=](int64_t x, int64_t y) { return rules.remainder(x, y); });
    case IRNodeType::Min:
      return map([=](int64_t x, int64_t y) { return rules.smaller(x, y); });
    case IRNodeType::Max:
      return map([=](int64_t x, int64_t y) { return rules.larger(x, y); });
    case IRNodeType::EQ:
      return map([](int64_t x, int64_t y) { return x == y; });
    case IRNodeType::NE:
      return map([](int64_t x, int64_t y) { return x != y; });
    case IRNodeType::LT:
      return map([=](int64_t x, int64_t y) { return rules.less(x, y); });
    case IRNodeType::LE:
      return map([=](int64_t x, int64_t y) { return !rules.less(y, x); });
    case IRNodeType::GT:
      return map([=](int64_t x, int64_t y) { return rules.less(y, x); });
    case IRNodeType::GE:
      return map([=](int64_t x, int64_t y) { return !rules.less(x, y); });
    default:
      refuse_operation("unknown operation on integers");
  }
}

template <typename Real>
Lanes<Real> Evaluator<Real>::select_(const Expr& condition, const Expr& yes, const Expr& no) {
  const Lanes<Real>& c = value(condition);
  const Lanes<Real>& y = value(yes);
  const Lanes<Real>& n = value(no);
  return y.is_real ? reals<Real>(select_lanes(c.integers, y.reals, n.reals))
                   : integers<Real>(select_lanes(c.integers, y.integers, n.integers));
}

template <typename Real>
Lanes<Real> Evaluator<Real>::cast_(Type to, const Expr& from) {
  if (to.is_handle() || from.type().is_handle()) refuse_operation("cast of a handle");
  const Lanes<Real>& x = value(from);
  if (to.is_float()) {
    if (x.is_real) {
      return reals<Real>(map_lanes<Real>(x.reals, [=](Real r) { return round_to(to, r); }));
    }
    const IntegerRules rules(from.type());
    if (to.bits() == 32) {
      return reals<Real>(map_lanes<Real>(x.integers, [=](int64_t i) {
        return static_cast<Real>(rules.template to_real<float>(i));
      }));
    }
    return reals<Real>(map_lanes<Real>(
        x.integers, [=](int64_t i) { return round_to(to, rules.template to_real<Real>(i)); }));
  }
  // Bool is a 1-bit integer in Halide, also here: a cast keeps the lowest bit and does not ask for
  // != 0.
  const IntegerRules rules(to);
  return integers<Real>(
      x.is_real ? map_lanes<int64_t>(x.reals, [=](Real r) { return rules.from_real(r); })
                : map_lanes<int64_t>(x.integers, [=](int64_t i) { return rules.wrap(i); }));
}

template <typename Real>
Lanes<Real> Evaluator<Real>::reinterpret_(Type to, const Expr& from) {
  const Type source = from.type();
  const Lanes<Real>& x = value(from);
  if (!to.is_float() && !x.is_real && !to.is_handle() && to.bits() == source.bits()) {
    const IntegerRules rules(to);
    return integers<Real>(map_lanes<int64_t>(x.integers, [=](int64_t i) { return rules.wrap(i); }));
  }
  if (to.bits() != 32 || source.bits() != 32) {
    refuse_operation("reinterpret of floats that are not 32 bits wide");
  }
  if (to.is_float() == x.is_real) return x;
  if (to.is_float()) {
    return reals<Real>(map_lanes<Real>(x.integers, [](int64_t i) {
      return static_cast<Real>(std::bit_cast<float>(static_cast<uint32_t>(i)));
    }));
  }
  const IntegerRules rules(to);
  return integers<Real>(map_lanes<int64_t>(x.reals, [=](Real r) {
    return rules.wrap(uint64_t{std::bit_cast<uint32_t>(static_cast<float>(r))});
  }));
}

template class Evaluator<double>;
template class Evaluator<float>;

}  // namespace detail

template <typename Real>
Lanes<Real> evaluate(const Expr& e, const Environment<Real>& environment) {
  if (environment.lanes == 0) throw std::invalid_argument("fovea: nothing to evaluate: 0 lanes");
  return detail::Evaluator<Real>(environment).value(e);
}

template Lanes<double> evaluate(const Expr&, const Environment<double>&);
template Lanes<float> evaluate(const Expr&, const Environment<float>&);

}  // namespace fovea
