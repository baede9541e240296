// evaluate_test.cpp: the interpreter against Halide's own compiler, operation by operation, and
// what it refuses. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/variant.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea {
namespace {

using Halide::Internal::Call;
using Halide::Internal::Variable;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Expr variable(const std::string& name, Halide::Type type) { return Variable::make(type, name); }

double one(const Expr& e, const Environment<double>& environment = {}) {
  const Lanes<double> lanes = evaluate(e, environment);
  return lanes.is_real ? lanes.reals.at(0) : static_cast<double>(lanes.integers.at(0));
}

std::string refusal(const Expr& e, const Environment<double>& environment = {}) {
  try {
    evaluate(e, environment);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

struct Operation {
  const char* name;
  std::function<Expr(Expr, Expr)> make;
};

template <typename T>
Lanes<float> to_lanes(const std::vector<T>& values) {
  Lanes<float> lanes;
  lanes.is_real = std::is_floating_point_v<T>;
  for (const T value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      lanes.reals.push_back(value);
    } else {
      lanes.integers.push_back(static_cast<int64_t>(value));
    }
  }
  return lanes;
}

template <typename T>
bool element_equals(const Halide::Buffer<>& expected, int i, const Lanes<float>& actual,
                    double tolerance) {
  const T want = expected.as<T>()(i);
  const size_t lane = static_cast<size_t>(i);
  if constexpr (std::is_floating_point_v<T>) {
    const double got = actual.reals.at(actual.reals.size() == 1 ? 0 : lane);
    const double exact = static_cast<double>(want);
    if (std::isnan(exact)) return std::isnan(got);
    return got == exact || std::abs(got - exact) <= tolerance * std::max(1.0, std::abs(exact));
  } else {
    return actual.integers.at(actual.integers.size() == 1 ? 0 : lane) == static_cast<int64_t>(want);
  }
}

bool element_equals(const Halide::Buffer<>& expected, int i, const Lanes<float>& actual,
                    double tolerance) {
  const Halide::Type type = expected.type();
  if (type == Halide::Float(32)) return element_equals<float>(expected, i, actual, tolerance);
  if (type == Halide::Float(64)) return element_equals<double>(expected, i, actual, tolerance);
  if (type == Halide::Int(8)) return element_equals<int8_t>(expected, i, actual, tolerance);
  if (type == Halide::Int(16)) return element_equals<int16_t>(expected, i, actual, tolerance);
  if (type == Halide::Int(32)) return element_equals<int32_t>(expected, i, actual, tolerance);
  if (type == Halide::Int(64)) return element_equals<int64_t>(expected, i, actual, tolerance);
  if (type == Halide::UInt(8)) return element_equals<uint8_t>(expected, i, actual, tolerance);
  if (type == Halide::UInt(16)) return element_equals<uint16_t>(expected, i, actual, tolerance);
  if (type == Halide::UInt(32)) return element_equals<uint32_t>(expected, i, actual, tolerance);
  if (type == Halide::UInt(64)) return element_equals<uint64_t>(expected, i, actual, tolerance);
  ADD_FAILURE() << "no comparison for " << type;
  return false;
}

// Every operation on every pair of values, interpreted and compiled. All operations share one
// compilation.
template <typename T>
void expect_as_compiled(const std::vector<Operation>& operations, const std::vector<T>& left,
                        const std::vector<T>& right, double tolerance = 0) {
  std::vector<T> a, b;
  for (const T x : left) {
    for (const T y : right) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const int n = static_cast<int>(a.size());
  const Halide::Buffer<T> a_buffer(a.data(), n), b_buffer(b.data(), n);
  Halide::Var x("x");
  std::vector<Halide::Func> compiled;
  for (const Operation& operation : operations) {
    Expr e = operation.make(a_buffer(x), b_buffer(x));
    compiled.emplace_back();
    compiled.back()(x) = e.type().is_bool() ? Halide::cast<uint8_t>(e) : e;
  }
  const Halide::Realization expected = Halide::Pipeline(compiled).realize({n});

  Environment<float> environment;
  environment.lanes = a.size();
  environment.variables["a"] = to_lanes(a);
  environment.variables["b"] = to_lanes(b);
  for (size_t i = 0; i < operations.size(); ++i) {
    const Expr e = operations[i].make(variable("a", Halide::type_of<T>()),
                                      variable("b", Halide::type_of<T>()));
    const Lanes<float> actual = evaluate(e, environment);
    for (int lane = 0; lane < n; ++lane) {
      ASSERT_TRUE(element_equals(expected[i], lane, actual, tolerance))
          << operations[i].name << " of " << +a[static_cast<size_t>(lane)] << " and "
          << +b[static_cast<size_t>(lane)] << " (" << Halide::type_of<T>() << ")";
    }
  }
}

const std::vector<Operation> integer_operations = {
    {"+", [](Expr a, Expr b) { return a + b; }},
    {"-", [](Expr a, Expr b) { return a - b; }},
    {"*", [](Expr a, Expr b) { return a * b; }},
    {"/", [](Expr a, Expr b) { return a / b; }},
    {"%", [](Expr a, Expr b) { return a % b; }},
    {"min", [](Expr a, Expr b) { return Halide::min(a, b); }},
    {"max", [](Expr a, Expr b) { return Halide::max(a, b); }},
    {"==", [](Expr a, Expr b) { return a == b; }},
    {"!=", [](Expr a, Expr b) { return a != b; }},
    {"<", [](Expr a, Expr b) { return a < b; }},
    {"<=", [](Expr a, Expr b) { return a <= b; }},
    {">", [](Expr a, Expr b) { return a > b; }},
    {">=", [](Expr a, Expr b) { return a >= b; }},
    {"&&", [](Expr a, Expr b) { return a < 3 && b < 3; }},
    {"||", [](Expr a, Expr b) { return a < 3 || b < 3; }},
    {"!", [](Expr a, Expr b) { return !(a < b); }},
    {"select", [](Expr a, Expr b) { return Halide::select(a < b, a, b); }},
    {"abs", [](Expr a, Expr) { return a.type().is_int() ? Halide::abs(a) : a; }},
    {"absd", [](Expr a, Expr b) { return Halide::absd(a, b); }},
    {"&", [](Expr a, Expr b) { return a & b; }},
    {"|", [](Expr a, Expr b) { return a | b; }},
    {"^", [](Expr a, Expr b) { return a ^ b; }},
    {"~", [](Expr a, Expr) { return ~a; }},
    {"<< 3", [](Expr a, Expr) { return a << 3; }},
    {">> 3", [](Expr a, Expr) { return a >> 3; }},
    {"<<", [](Expr a, Expr b) { return a << (b % Halide::Internal::make_const(b.type(), 5)); }},
    {">>", [](Expr a, Expr b) { return a >> (b % Halide::Internal::make_const(b.type(), 5)); }},
    {"popcount", [](Expr a, Expr) { return Halide::popcount(a); }},
    {"div_round_to_zero",
     [](Expr a, Expr b) {
       return Halide::div_round_to_zero(a, Halide::select(b > 0, b, Halide::cast(b.type(), 3)));
     }},
    {"mod_round_to_zero",
     [](Expr a, Expr b) {
       return Halide::mod_round_to_zero(a, Halide::select(b > 0, b, Halide::cast(b.type(), 3)));
     }},
    {"to int8", [](Expr a, Expr) { return Halide::cast<int8_t>(a); }},
    {"to uint8", [](Expr a, Expr) { return Halide::cast<uint8_t>(a); }},
    {"to int16", [](Expr a, Expr) { return Halide::cast<int16_t>(a); }},
    {"to uint16", [](Expr a, Expr) { return Halide::cast<uint16_t>(a); }},
    {"to int32", [](Expr a, Expr) { return Halide::cast<int32_t>(a); }},
    {"to uint32", [](Expr a, Expr) { return Halide::cast<uint32_t>(a); }},
    {"to int64", [](Expr a, Expr) { return Halide::cast<int64_t>(a); }},
    {"to uint64", [](Expr a, Expr) { return Halide::cast<uint64_t>(a); }},
    {"to float", [](Expr a, Expr) { return Halide::cast<float>(a); }},
    {"to bool", [](Expr a, Expr) { return Halide::cast<bool>(a); }},
    {"from bool", [](Expr a, Expr b) { return Halide::cast<int32_t>(a < b); }},
    {"mux", [](Expr a, Expr b) { return Halide::mux(Halide::cast<int32_t>(a), {a, b, a + b}); }},
    {"likely", [](Expr a, Expr b) { return Halide::likely(a < b); }},
};

template <typename T>
class IntegerOperations : public testing::Test {};
using IntegerTypes =
    testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(IntegerOperations, IntegerTypes);

TYPED_TEST(IntegerOperations, AgreeWithTheCompiler) {
  using T = TypeParam;
  const T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  std::vector<T> grid = {
      lowest, static_cast<T>(lowest + 1),  static_cast<T>(lowest / 2),  0,      1, 2, 3, 5, 7,
      100,    static_cast<T>(highest / 2), static_cast<T>(highest - 1), highest};
  if (std::is_signed_v<T>) {
    for (const int x : {-100, -8, -7, -5, -3, -2, -1}) grid.push_back(static_cast<T>(x));
  }
  expect_as_compiled<T>(integer_operations, grid, grid);
}

TEST(Evaluate, FloatOperationsAgreeWithTheCompiler) {
  const std::vector<Operation> exact = {
      {"+", [](Expr a, Expr b) { return a + b; }},
      {"-", [](Expr a, Expr b) { return a - b; }},
      {"*", [](Expr a, Expr b) { return a * b; }},
      {"<", [](Expr a, Expr b) { return a < b; }},
      {"<=", [](Expr a, Expr b) { return a <= b; }},
      {">", [](Expr a, Expr b) { return a > b; }},
      {">=", [](Expr a, Expr b) { return a >= b; }},
      {"==", [](Expr a, Expr b) { return a == b; }},
      {"!=", [](Expr a, Expr b) { return a != b; }},
      {"min", [](Expr a, Expr b) { return Halide::min(a, b); }},
      {"max", [](Expr a, Expr b) { return Halide::max(a, b); }},
      {"select", [](Expr a, Expr b) { return Halide::select(a < b, a, b); }},
      {"negate", [](Expr a, Expr) { return -a; }},
      {"abs", [](Expr a, Expr) { return Halide::abs(a); }},
      {"absd", [](Expr a, Expr b) { return Halide::absd(a, b); }},
      {"floor", [](Expr a, Expr) { return Halide::floor(a); }},
      {"ceil", [](Expr a, Expr) { return Halide::ceil(a); }},
      {"trunc", [](Expr a, Expr) { return Halide::trunc(a); }},
      {"round", [](Expr a, Expr) { return Halide::round(a); }},
      {"to int", [](Expr a, Expr) { return Halide::cast<int32_t>(a); }},
      {"to uint8", [](Expr a, Expr) { return Halide::cast<uint8_t>(Halide::abs(a)); }},
      {"to int8", [](Expr a, Expr) { return Halide::cast<int8_t>(a); }},
      {"to f16",
       [](Expr a, Expr) { return Halide::cast<float>(Halide::cast<Halide::float16_t>(a)); }},
      {"to bf16",
       [](Expr a, Expr) { return Halide::cast<float>(Halide::cast<Halide::bfloat16_t>(a)); }},
      {"to bits", [](Expr a, Expr) { return Halide::reinterpret<int32_t>(a); }},
      {"to unsigned bits", [](Expr a, Expr) { return Halide::reinterpret<uint32_t>(a); }},
      {"from bits",
       [](Expr a, Expr) {
         return Halide::reinterpret<float>(Halide::reinterpret<int32_t>(a) & ~1);
       }},
      {"is_nan", [](Expr a, Expr) { return Halide::is_nan(a); }},
      {"is_inf", [](Expr a, Expr) { return Halide::is_inf(a); }},
      {"is_finite", [](Expr a, Expr) { return Halide::is_finite(a); }},
      {"strict", [](Expr a, Expr b) { return Halide::strict_float(a * b + a - b); }},
      {"strict min", [](Expr a, Expr b) { return Halide::strict_float(Halide::min(a, b)); }},
      {"strict max", [](Expr a, Expr b) { return Halide::strict_float(Halide::max(a, b)); }},
      {"strict ==", [](Expr a, Expr b) { return Halide::strict_float(a == b); }},
      {"strict <", [](Expr a, Expr b) { return Halide::strict_float(a < b); }},
      {"strict <=", [](Expr a, Expr b) { return Halide::strict_float(a <= b); }},
      {"likely", [](Expr a, Expr) { return Halide::likely_if_innermost(a); }},
      {"mux", [](Expr a, Expr b) { return Halide::mux(Halide::cast<int32_t>(a), {a, b}); }},
  };
  const std::vector<float> grid = {-100.5f, -3.5f, -2.5f, -1.f, -0.75f, 0.f,   0.3f,
                                   0.5f,    1.f,   1.5f,  2.f,  77.25f, 126.9f};
  expect_as_compiled<float>(exact, grid, grid);
}

TEST(Evaluate, MathematicalFunctionsAgreeWithTheCompiler) {
  const std::vector<Operation> functions = {
      {"/", [](Expr a, Expr b) { return a / b; }},
      {"exp", [](Expr a, Expr) { return Halide::exp(a); }},
      {"log", [](Expr a, Expr) { return Halide::log(a); }},
      {"sqrt", [](Expr a, Expr) { return Halide::sqrt(a); }},
      {"sin", [](Expr a, Expr) { return Halide::sin(a); }},
      {"cos", [](Expr a, Expr) { return Halide::cos(a); }},
      {"tan", [](Expr a, Expr) { return Halide::tan(a); }},
      {"sinh", [](Expr a, Expr) { return Halide::sinh(a); }},
      {"cosh", [](Expr a, Expr) { return Halide::cosh(a); }},
      {"tanh", [](Expr a, Expr) { return Halide::tanh(a); }},
      {"asin", [](Expr a, Expr) { return Halide::asin(a / 4); }},
      {"acos", [](Expr a, Expr) { return Halide::acos(a / 4); }},
      {"atan", [](Expr a, Expr) { return Halide::atan(a); }},
      {"asinh", [](Expr a, Expr) { return Halide::asinh(a); }},
      {"acosh", [](Expr a, Expr) { return Halide::acosh(a + 1); }},
      {"atanh", [](Expr a, Expr) { return Halide::atanh(a / 4); }},
      {"atan2", [](Expr a, Expr b) { return Halide::atan2(a, b); }},
      {"pow", [](Expr a, Expr b) { return Halide::pow(a, b); }},
      {"pow 3", [](Expr a, Expr) { return Halide::pow(a, 3); }},
      {"erf", [](Expr a, Expr) { return Halide::erf(a); }},
      {"fast_exp", [](Expr a, Expr) { return Halide::fast_exp(a); }},
      {"fast_log", [](Expr a, Expr) { return Halide::fast_log(a); }},
      {"fast_pow", [](Expr a, Expr b) { return Halide::fast_pow(a, b); }},
  };
  const std::vector<float> grid = {0.25f, 0.5f, 1.f, 1.7f, 2.f, 3.3f};
  expect_as_compiled<float>(functions, grid, grid, 2e-6);
  const std::vector<Operation> approximations = {
      {"%", [](Expr a, Expr b) { return a % b; }},
      {"fast_inverse", [](Expr a, Expr) { return Halide::fast_inverse(a); }},
      {"fast_inverse_sqrt", [](Expr a, Expr) { return Halide::fast_inverse_sqrt(Halide::abs(a)); }},
  };
  expect_as_compiled<float>(approximations, {-3.3f, -1.f, 0.25f, 5.f}, {-2.f, 0.75f, 3.f}, 1e-3);
}

TEST(Evaluate, FloatToIntegerTruncatesAndSaturates) {
  const auto to = [](Halide::Type type, double x) {
    Environment<double> environment;
    environment.variables["x"] = Lanes<double>::real(x);
    return evaluate(Halide::cast(type, variable("x", Halide::Float(32))), environment)
        .integers.at(0);
  };
  EXPECT_EQ(to(Halide::Int(32), -3.9), -3);
  EXPECT_EQ(to(Halide::Int(32), 1e30), INT32_MAX);
  EXPECT_EQ(to(Halide::Int(32), -1e30), INT32_MIN);
  EXPECT_EQ(to(Halide::Int(32), -2147483648.0), INT32_MIN);
  EXPECT_EQ(to(Halide::Int(64), inf), INT64_MAX);
  EXPECT_EQ(to(Halide::Int(64), -inf), INT64_MIN);
  EXPECT_EQ(to(Halide::Int(8), nan), 0);
  EXPECT_EQ(to(Halide::UInt(8), 300.0), 255);
  EXPECT_EQ(to(Halide::UInt(8), -1.0), 0);
  EXPECT_EQ(static_cast<uint64_t>(to(Halide::UInt(64), 1e300)), UINT64_MAX);
  EXPECT_EQ(static_cast<uint64_t>(to(Halide::UInt(64), 0x1p63)), uint64_t{1} << 63);
  EXPECT_EQ(to(Halide::UInt(1), 0.5), 0);
  EXPECT_EQ(to(Halide::UInt(1), 7.0), 1);
}

TEST(Evaluate, NanIsKeptByArithmeticAndDroppedBySelect) {
  const Expr x = variable("x", Halide::Float(32));
  Environment<double> environment;
  environment.variables["x"] = Lanes<double>::real(nan);
  EXPECT_TRUE(std::isnan(one(Halide::min(x, 1.0f), environment)));
  EXPECT_TRUE(std::isnan(one(Halide::min(Expr(1.0f), x), environment)));
  EXPECT_TRUE(std::isnan(one(Halide::clamp(x, -1.0f, 1.0f), environment)));
  EXPECT_TRUE(std::isnan(one(x * 0, environment)));
  EXPECT_EQ(one(Halide::select(Halide::is_nan(x), 5.0f, x), environment), 5);
  EXPECT_EQ(one(Halide::select(x == x, x, 6.0f), environment), 6);
  EXPECT_EQ(one(Halide::strict_float(Halide::max(x, 1.0f)), environment), 1);
  EXPECT_TRUE(std::isnan(one(Halide::strict_float(Halide::max(Expr(1.0f), x)), environment)));
  EXPECT_EQ(one(x < 0 || x >= 0, environment), 0);
}

TEST(Evaluate, ConstantsAreTheFloatsOfTheDeclaration) {
  EXPECT_EQ(one(Expr(0.1f)), static_cast<double>(0.1f));
  const Expr x = variable("x", Halide::Float(32));
  Environment<double> environment;
  environment.variables["x"] = Lanes<double>::real(1);
  EXPECT_EQ(one(x * 0.1f, environment), static_cast<double>(0.1f));
  // Everything else stays in double.
  EXPECT_EQ(one(x / 3, environment), 1.0 / 3.0);
}

TEST(Evaluate, LanesBroadcast) {
  const Expr q = variable("q", Halide::Int(32)), k = variable("k", Halide::Int(32));
  Environment<double> environment;
  environment.lanes = 4;
  environment.variables["q"] = Lanes<double>::integer(2);
  environment.variables["k"] = {false, {}, {0, 1, 2, 3}};
  EXPECT_EQ(evaluate(k <= q, environment).integers, (std::vector<int64_t>{1, 1, 1, 0}));
  EXPECT_EQ(evaluate(q - k, environment).integers, (std::vector<int64_t>{2, 1, 0, -1}));
  EXPECT_EQ(evaluate(q * 3, environment).integers, (std::vector<int64_t>{6}));
  EXPECT_EQ(evaluate(Halide::select(q == 2, k, -1), environment).integers,
            (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(evaluate(Halide::select(k == 2, q, k), environment).integers,
            (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Evaluate, LetsMayReuseANameAndAreNotConfusedByIt) {
  using Halide::Internal::Let;
  const Expr t = variable("t", Halide::Int(32));
  const Expr shared = t * 10;  // one node under three meanings of t
  const Expr inner = Let::make("t", t + 1, shared);
  const Expr e = Let::make("t", Expr(2), shared + inner) * 1000 + Let::make("t", Expr(5), shared);
  EXPECT_EQ(one(e), (20 + 30) * 1000 + 50);
  Environment<double> environment;
  environment.variables["t"] = Lanes<double>::integer(7);
  EXPECT_EQ(one(shared + Let::make("t", Expr(1), shared), environment), 80);
}

TEST(Evaluate, SharedNodesAreEvaluatedOnce) {
  Expr e = variable("x", Halide::Int(32));
  for (int i = 0; i < 60; ++i) e = e + e;  // 2^60 paths
  Environment<double> environment;
  environment.variables["x"] = Lanes<double>::integer(1);
  EXPECT_EQ(one(e, environment), 0);  // 2^60 wrapped to 32 bits
}

TEST(Evaluate, WrappersDoNotChangeTheValue) {
  const Expr x = variable("x", Halide::Int(32));
  Environment<double> environment;
  environment.variables["x"] = Lanes<double>::integer(9);
  EXPECT_EQ(one(Halide::unsafe_promise_clamped(x, 0, 3), environment), 9);
  EXPECT_EQ(one(Call::make(Halide::Int(32), Call::promise_clamped, {x, 0, 3}, Call::PureIntrinsic),
                environment),
            9);
  EXPECT_EQ(one(Call::make(Halide::Int(32), Call::return_second, {x, x + 1}, Call::PureIntrinsic),
                environment),
            10);
  EXPECT_EQ(one(Call::make(Halide::Int(32), Call::if_then_else, {x > 5, x, 0}, Call::PureIntrinsic),
                environment),
            9);
}

Expr table_call(Halide::Type type, const std::string& name, const std::vector<Expr>& indices) {
  return Call::make(type, table_prefix + name, indices, Call::PureExtern);
}

TEST(Evaluate, TablesAreAskedPerLane) {
  const Expr h = variable("h", Halide::Int(32)), k = variable("k", Halide::Int(32));
  int asked = 0;
  Environment<double> environment;
  environment.lanes = 3;
  environment.variables["h"] = Lanes<double>::integer(2);
  environment.variables["k"] = {false, {}, {-1, 0, 1}};
  environment.table = [&](const std::string& name, const std::vector<int64_t>& indices) {
    EXPECT_EQ(name, "bias");
    ++asked;
    return 0.5 + 10.0 * static_cast<double>(indices.at(0)) + static_cast<double>(indices.back());
  };
  EXPECT_EQ(evaluate(table_call(Halide::Float(32), "bias", {h, k + 1}), environment).reals,
            (std::vector<double>{20.5, 21.5, 22.5}));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(evaluate(table_call(Halide::Int(32), "bias", {h}), environment).integers,
            (std::vector<int64_t>{22}));
  EXPECT_EQ(asked, 4);
  environment.table = nullptr;
  EXPECT_NE(refusal(table_call(Halide::Float(32), "bias", {h}), environment).find("'bias'"),
            std::string::npos);
}

// The mixing of 32 bits that hashes are made of, here and in plain C++.
template <typename T, typename Shift>
T mixed(T h, Shift right) {
  h = h ^ right(h, 16);
  h = h * T(0x85ebca6bu);
  h = h ^ right(h, 13);
  h = h * T(0xc2b2ae35u);
  return h ^ right(h, 16);
}

TEST(Evaluate, UnsignedArithmeticWrapsInExactly32Bits) {
  const Expr seed = variable("seed", Halide::Int(32)), k = variable("k", Halide::Int(32));
  const Expr start = Halide::cast<uint32_t>(seed) * Expr(0x9e3779b9u) + Halide::cast<uint32_t>(k);
  const Expr hash = mixed(start, [](Expr x, int bits) { return x >> Expr(uint32_t(bits)); });
  const Expr rotated = (hash << Expr(7u)) | (hash >> Expr(25u));
  const Expr as_int = Halide::cast<int32_t>(hash);
  const Expr back = Halide::cast<uint32_t>(as_int);
  const Expr unit = Halide::cast<float>(hash >> Expr(8u)) * 0x1p-24f;
  const Expr as_float = Halide::cast<float>(hash);
  Environment<double> exact;
  Environment<float> rounded;
  std::vector<int64_t> keys;
  for (int64_t i = -500; i < 500; ++i) keys.push_back(i * 2147483);
  exact.lanes = rounded.lanes = keys.size();
  exact.variables["k"] = {false, {}, keys};
  rounded.variables["k"] = {false, {}, keys};
  exact.variables["seed"] = Lanes<double>::integer(-77);
  rounded.variables["seed"] = Lanes<float>::integer(-77);
  const auto hashes = evaluate(hash, exact), rotations = evaluate(rotated, exact);
  const auto ints = evaluate(as_int, exact), uints = evaluate(back, exact);
  const auto units = evaluate(unit, exact), floats = evaluate(as_float, exact);
  EXPECT_EQ(evaluate(hash, rounded).integers, hashes.integers);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t h = mixed(static_cast<uint32_t>(-77) * 0x9e3779b9u +
                                 static_cast<uint32_t>(static_cast<int32_t>(keys[i])),
                             [](uint32_t x, int bits) { return x >> bits; });
    ASSERT_EQ(hashes.integers[i], int64_t{h});
    ASSERT_EQ(rotations.integers[i], int64_t{(h << 7) | (h >> 25)});
    ASSERT_EQ(ints.integers[i], int64_t{static_cast<int32_t>(h)});
    ASSERT_EQ(uints.integers[i], int64_t{h});
    ASSERT_EQ(units.reals[i], static_cast<double>(h >> 8) / (1 << 24));
    // Rounded as a kernel rounds it, also in double.
    ASSERT_EQ(floats.reals[i], static_cast<double>(static_cast<float>(h)));
  }
}

TEST(Evaluate, IntegersBecomeTheNearestFloatOfTheType) {
  Environment<double> environment;
  environment.variables["i"] = Lanes<double>::integer(16777217);
  environment.variables["u"] = Lanes<double>::integer(4294967295);
  const Expr i = variable("i", Halide::Int(32)), u = variable("u", Halide::UInt(32));
  EXPECT_EQ(one(Halide::cast<float>(i), environment), 16777216);
  EXPECT_EQ(one(Halide::cast<float>(u), environment), 4294967296);
  EXPECT_EQ(one(Halide::cast<double>(i), environment), 16777217);
  EXPECT_EQ(one(Halide::cast<uint32_t>(Halide::cast<float>(u)), environment), 4294967295);
  EXPECT_EQ(one(Halide::cast<int32_t>(u), environment), -1);
}

Expr row_call(const char* name, const std::vector<Expr>& arguments, Halide::Type type) {
  return Call::make(type, name, arguments, Call::PureExtern);
}

TEST(EvaluateRow, EntriesAreClampedIntoTheRow) {
  const Row row("sample", "here");
  const Expr d = variable("d", Halide::Int(32));
  Environment<double> environment;
  environment.row = {1, 20, 300};
  environment.lanes = 5;
  environment.variables["d"] = {false, {}, {-1, 0, 1, 2, 7}};
  using Reals = std::vector<double>;
  EXPECT_EQ(evaluate(row(d), environment).reals, (Reals{1, 1, 20, 300, 300}));
  EXPECT_EQ(evaluate(row(row.size() - 1 - d), environment).reals, (Reals{300, 300, 20, 1, 1}));
  EXPECT_EQ(one(row.size(), environment), 3);
  EXPECT_EQ(one(row(1), environment), 20);
}

TEST(EvaluateRow, ReductionsRunOverAllFeatures) {
  const Row row("sample", "here");
  const Expr d = variable("d", Halide::Int(32)), x = variable("x", Halide::Float(32));
  Environment<double> environment;
  environment.row = {1, -20, 4};
  environment.lanes = 2;
  environment.variables["d"] = {false, {}, {0, 1}};
  environment.variables["x"] = Lanes<double>::real(0.5);
  const auto sum = [&](auto f) { return row.sum(f); };
  using Reals = std::vector<double>;
  EXPECT_EQ(one(sum([&](Expr j) { return row(j); }), environment), -15);
  EXPECT_EQ(one(sum([&](Expr) { return x; }), environment), 1.5);
  EXPECT_EQ(one(sum([&](Expr j) { return row(j) * Halide::cast<float>(j) + x; }), environment),
            -10.5);
  EXPECT_EQ(one(row.mean_square(), environment), 417.0 / 3);
  EXPECT_EQ(one(row.largest([&](Expr j) { return row(j); }), environment), 4);
  EXPECT_EQ(one(row.largest([&](Expr j) { return abs(row(j)); }), environment), 20);
  // A term with a value of its own in every lane.
  EXPECT_EQ(evaluate(sum([&](Expr j) { return row(j + d); }), environment).reals,
            (Reals{-15, -12}));
  EXPECT_EQ(evaluate(row.largest([&](Expr j) { return row(j) * Halide::cast<float>(1 - 2 * d); }),
                     environment)
                .reals,
            (Reals{4, 20}));
  // Two reductions in one expression have two indices.
  EXPECT_EQ(one(sum([&](Expr j) { return row(j); }) * row.largest([&](Expr j) { return row(j); }),
                environment),
            -60);
}

TEST(EvaluateRow, LargestKeepsNan) {
  const Row row("sample", "here");
  const Expr d = variable("d", Halide::Int(32));
  for (const size_t at : {0u, 1u, 2u}) {
    Environment<double> environment;
    environment.row = {1, 2, 3};
    environment.row[at] = nan;
    environment.lanes = 2;
    environment.variables["d"] = {false, {}, {0, 1}};
    EXPECT_TRUE(std::isnan(one(row.largest([&](Expr j) { return row(j); }), environment)));
    EXPECT_TRUE(std::isnan(
        one(row.largest([&](Expr j) { return row(j) + Halide::cast<float>(d); }), environment)));
  }
}

TEST(EvaluateRow, RefusesByName) {
  const Row row("sample", "here");
  EXPECT_NE(refusal(row(0)).find("'row.entry' has no row here"), std::string::npos);
  Environment<double> environment;
  environment.row = {1};
  EXPECT_NE(refusal(row_call("row.median", {}, Halide::Float(32)), environment).find("row.median"),
            std::string::npos);
  EXPECT_NE(refusal(variable(row_calls::index, Halide::Int(32)), environment).find("row.index"),
            std::string::npos);
}

TEST(Evaluate, ExtentsAreAskedByName) {
  const Expr extent =
      Call::make(Halide::Int(32), std::string(extent_prefix) + "bias", {Expr(1)}, Call::PureExtern);
  Environment<double> environment;
  environment.extent = [](const std::string& name, int64_t axis) {
    EXPECT_EQ(name, "bias");
    return 40 + axis;
  };
  EXPECT_EQ(one(extent, environment), 41);
  EXPECT_NE(refusal(extent).find("'bias'"), std::string::npos);
}

TEST(Evaluate, RefusesByName) {
  const Expr f = variable("f", Halide::Float(32)), i = variable("i", Halide::Int(32));
  Environment<double> environment;
  environment.variables["f"] = Lanes<double>::real(1);
  environment.variables["i"] = Lanes<double>::integer(1);
  const auto expect_named = [&](const Expr& e, const std::string& name) {
    const std::string message = refusal(e, environment);
    EXPECT_NE(message.find("'" + name + "'"), std::string::npos) << "got: " << message;
  };
  expect_named(Halide::lerp(f, f, f), "lerp");
  expect_named(Halide::random_float(), "random");
  expect_named(Halide::saturating_cast<uint8_t>(i), "saturating_cast");
  expect_named(Halide::widening_mul(i, i), "widening_mul");
  expect_named(Call::make(Halide::Float(32), "my_function", {f}, Call::Extern), "my_function");
  expect_named(Call::make(Halide::Float(32), "my_function_f32", {f}, Call::PureExtern),
               "my_function_f32");
  expect_named(Halide::Internal::Ramp::make(i, 1, 4), "vector of 4");
  expect_named(variable("nobody", Halide::Int(32)), "nobody");
  expect_named(variable("i", Halide::Float(32)), "i");
  EXPECT_NE(refusal(Expr(), environment), "");
}

TEST(Evaluate, RefusesVariablesOfTheWrongLength) {
  Environment<double> environment;
  environment.lanes = 4;
  environment.variables["k"] = {false, {}, {0, 1, 2}};
  EXPECT_NE(refusal(variable("k", Halide::Int(32)), environment).find("'k' has 3"),
            std::string::npos);
}

}  // namespace
}  // namespace fovea
