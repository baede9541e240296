// evaluate_call.cpp: the interpreter's calls: intrinsics, mathematical functions, tables.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/variant.h>

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "evaluator.h"
#include "lane_arithmetic.h"

namespace fovea::detail {
namespace {

using Halide::Internal::Call;
using Halide::Internal::IRNodeType;

template <typename Real>
struct UnaryFunction {
  std::string_view name;
  Real (*apply)(Real);
};

// Functions that Halide calls by these names with the suffix _f16, _f32 or _f64.
template <typename Real>
constexpr UnaryFunction<Real> unary_functions[] = {
    {"exp", [](Real x) { return std::exp(x); }},
    {"log", [](Real x) { return std::log(x); }},
    {"sqrt", [](Real x) { return std::sqrt(x); }},
    {"sin", [](Real x) { return std::sin(x); }},
    {"cos", [](Real x) { return std::cos(x); }},
    {"tan", [](Real x) { return std::tan(x); }},
    {"sinh", [](Real x) { return std::sinh(x); }},
    {"cosh", [](Real x) { return std::cosh(x); }},
    {"tanh", [](Real x) { return std::tanh(x); }},
    {"asin", [](Real x) { return std::asin(x); }},
    {"acos", [](Real x) { return std::acos(x); }},
    {"atan", [](Real x) { return std::atan(x); }},
    {"asinh", [](Real x) { return std::asinh(x); }},
    {"acosh", [](Real x) { return std::acosh(x); }},
    {"atanh", [](Real x) { return std::atanh(x); }},
    {"floor", [](Real x) { return std::floor(x); }},
    {"ceil", [](Real x) { return std::ceil(x); }},
    {"trunc", [](Real x) { return std::trunc(x); }},
    // Approximations stand for the function they approximate.
    {"fast_inverse", [](Real x) { return 1 / x; }},
    {"fast_inverse_sqrt", [](Real x) { return 1 / std::sqrt(x); }},
};

// "exp" of "exp_f32"; empty without such a suffix.
std::string_view without_type_suffix(std::string_view name) {
  for (const std::string_view suffix : {"_f16", "_f32", "_f64"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

}  // namespace

template <typename Real>
Lanes<Real> Evaluator<Real>::call_(const Call& call) {
  if (call.is_intrinsic()) return intrinsic_(call);
  if (call.call_type != Call::PureExtern) refuse_operation(call.name);
  if (call.name.starts_with(table_prefix)) return table_(call);
  if (call.name.starts_with(extent_prefix)) return extent_(call);
  return call.name.starts_with(row_calls::prefix) ? row_(call) : math_(call);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::intrinsic_(const Call& call) {
  if (call.name.starts_with("strict_")) return strict_(call);
  // Hints for the compiler that do not change the value.
  if (call.is_intrinsic({Call::likely, Call::likely_if_innermost, Call::promise_clamped,
                         Call::unsafe_promise_clamped})) {
    return value(call.args[0]);
  }
  if (call.is_intrinsic(Call::return_second)) return value(call.args[1]);
  if (call.is_intrinsic(Call::if_then_else) && call.args.size() == 3) {
    return select_(call.args[0], call.args[1], call.args[2]);
  }
  if (call.is_intrinsic(Call::mux)) return mux_(call);
  if (call.is_intrinsic(Call::round)) {
    // To even at ties, the default rounding mode.
    return {true,
            map_lanes<Real>(value(call.args[0]).reals, [](Real x) { return std::nearbyint(x); }),
            {}};
  }
  if (call.is_intrinsic(Call::abs) && call.type.is_float()) {
    return {
        true, map_lanes<Real>(value(call.args[0]).reals, [](Real x) { return std::abs(x); }), {}};
  }
  if (call.is_intrinsic(Call::absd) && call.type.is_float()) {
    return {true,
            map_lanes<Real>(value(call.args[0]).reals, value(call.args[1]).reals,
                            [](Real x, Real y) { return std::abs(x - y); }),
            {}};
  }
  return integer_intrinsic_(call);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::strict_(const Call& call) {
  static constexpr std::pair<Call::IntrinsicOp, IRNodeType> plain[] = {
      {Call::strict_add, IRNodeType::Add}, {Call::strict_sub, IRNodeType::Sub},
      {Call::strict_mul, IRNodeType::Mul}, {Call::strict_div, IRNodeType::Div},
      {Call::strict_eq, IRNodeType::EQ},   {Call::strict_lt, IRNodeType::LT},
      {Call::strict_le, IRNodeType::LE}};
  for (const auto& [strict, operation] : plain) {
    if (call.is_intrinsic(strict)) return binary_(operation, call.args[0], call.args[1]);
  }
  // Strict code defines which operand wins over a NaN: the second.
  const auto map = [&](auto f) {
    return Lanes<Real>{
        true, map_lanes<Real>(value(call.args[0]).reals, value(call.args[1]).reals, f), {}};
  };
  if (call.is_intrinsic(Call::strict_min)) return map([](Real x, Real y) { return x < y ? x : y; });
  if (call.is_intrinsic(Call::strict_max)) return map([](Real x, Real y) { return x > y ? x : y; });
  refuse_operation(call.name);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::integer_intrinsic_(const Call& call) {
  if (call.args.empty() || !(call.args[0].type().is_int_or_uint())) refuse_operation(call.name);
  const IntegerRules rules(call.args[0].type());
  const IntegerRules result(call.type);
  const auto map1 = [&](auto f) {
    return Lanes<Real>{false, {}, map_lanes<int64_t>(value(call.args[0]).integers, f)};
  };
  const auto map2 = [&](auto f) {
    return Lanes<Real>{
        false,
        {},
        map_lanes<int64_t>(value(call.args[0]).integers, value(call.args[1]).integers, f)};
  };
  if (call.is_intrinsic(Call::abs)) {
    return map1([=](int64_t x) { return result.wrap(x < 0 ? rules.subtract(0, x) : x); });
  }
  if (call.is_intrinsic(Call::bitwise_not)) {
    return map1([=](int64_t x) { return result.wrap(~x); });
  }
  if (call.is_intrinsic(Call::popcount)) {
    const uint64_t mask = ~uint64_t{0} >> (64 - call.type.bits());
    return map1([=](int64_t x) { return int64_t{std::popcount(static_cast<uint64_t>(x) & mask)}; });
  }
  if (call.is_intrinsic(Call::absd)) {
    return map2([=](int64_t x, int64_t y) { return rules.distance(x, y); });
  }
  if (call.is_intrinsic(Call::bitwise_and)) return map2([](int64_t x, int64_t y) { return x & y; });
  if (call.is_intrinsic(Call::bitwise_or)) return map2([](int64_t x, int64_t y) { return x | y; });
  if (call.is_intrinsic(Call::bitwise_xor)) return map2([](int64_t x, int64_t y) { return x ^ y; });
  if (call.is_intrinsic(Call::shift_left)) {
    return map2([=](int64_t x, int64_t y) { return rules.shift_left(x, y); });
  }
  if (call.is_intrinsic(Call::shift_right)) {
    return map2([=](int64_t x, int64_t y) { return rules.shift_right(x, y); });
  }
  if (call.is_intrinsic(Call::div_round_to_zero)) {
    return map2([=](int64_t x, int64_t y) { return rules.divide_to_zero(x, y); });
  }
  if (call.is_intrinsic(Call::mod_round_to_zero)) {
    return map2([=](int64_t x, int64_t y) { return rules.remainder_to_zero(x, y); });
  }
  refuse_operation(call.name);
}

// mux(i, v0, v1, …): v_i, the last one for an index outside.
template <typename Real>
Lanes<Real> Evaluator<Real>::mux_(const Call& call) {
  const std::vector<int64_t>& index = value(call.args[0]).integers;
  Lanes<Real> result = value(call.args.back());
  for (size_t i = 1; i + 1 < call.args.size(); ++i) {
    const auto entry = static_cast<int64_t>(i - 1);
    const auto chosen = map_lanes<int64_t>(index, [=](int64_t x) { return int64_t{x == entry}; });
    const Lanes<Real>& option = value(call.args[i]);
    if (result.is_real) {
      result.reals = select_lanes(chosen, option.reals, result.reals);
    } else {
      result.integers = select_lanes(chosen, option.integers, result.integers);
    }
  }
  return result;
}

template <typename Real>
Lanes<Real> Evaluator<Real>::math_(const Call& call) {
  const std::string_view name = without_type_suffix(call.name);
  const auto real = [&](size_t i) -> const std::vector<Real>& { return value(call.args[i]).reals; };
  const auto truth = [&](auto f) {
    return Lanes<Real>{
        false, {}, map_lanes<int64_t>(real(0), [f](Real x) { return static_cast<int64_t>(f(x)); })};
  };
  for (const UnaryFunction<Real>& function : unary_functions<Real>) {
    if (name == function.name) return {true, map_lanes<Real>(real(0), function.apply), {}};
  }
  if (name == "pow") {
    return {
        true, map_lanes<Real>(real(0), real(1), [](Real x, Real y) { return std::pow(x, y); }), {}};
  }
  if (name == "atan2") {
    return {true,
            map_lanes<Real>(real(0), real(1), [](Real y, Real x) { return std::atan2(y, x); }),
            {}};
  }
  if (name == "is_nan") return truth([](Real x) { return std::isnan(x); });
  if (name == "is_inf") return truth([](Real x) { return std::isinf(x); });
  if (name == "is_finite") return truth([](Real x) { return std::isfinite(x); });
  refuse_operation(call.name);
}

template <typename Real>
Lanes<Real> Evaluator<Real>::table_(const Call& call) {
  const std::string table = call.name.substr(std::string_view(table_prefix).size());
  if (!environment_.table) {
    throw std::invalid_argument("fovea: table '" + table + "' has no entries here");
  }
  std::vector<const std::vector<int64_t>*> axes;
  size_t lanes = 1;
  for (const Expr& index : call.args) {
    axes.push_back(&value(index).integers);
    lanes = std::max(lanes, axes.back()->size());
  }
  Lanes<Real> result;
  result.is_real = call.type.is_float();
  std::vector<int64_t> indices(axes.size());
  for (size_t lane = 0; lane < lanes; ++lane) {
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      indices[axis] = (*axes[axis])[axes[axis]->size() == 1 ? 0 : lane];
    }
    const double entry = environment_.table(table, indices);
    if (result.is_real) {
      result.reals.push_back(static_cast<Real>(entry));
    } else {
      result.integers.push_back(static_cast<int64_t>(entry));
    }
  }
  return result;
}

template <typename Real>
Lanes<Real> Evaluator<Real>::extent_(const Call& call) {
  const std::string table = call.name.substr(std::string_view(extent_prefix).size());
  if (!environment_.extent) {
    throw std::invalid_argument("fovea: table '" + table + "' has no extent here");
  }
  return Lanes<Real>::integer(environment_.extent(table, value(call.args.at(0)).integers.at(0)));
}

template Lanes<double> Evaluator<double>::call_(const Call&);
template Lanes<float> Evaluator<float>::call_(const Call&);

}  // namespace fovea::detail
