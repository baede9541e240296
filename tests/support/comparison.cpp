// SPDX-License-Identifier: Apache-2.0
//
// The accuracy rule: a kernel's error is at most twice that of the plain evaluation of the same
// call in the type of its inputs (reference.h).
//
// Errors are measured against the magnitude of a number (reference.h): of an output, the sum of
// what it is made of without the signs; of an LSE or a row_max, its absolute value, at least 1; so
// rows of different size count alike. In a call of few numbers the plain evaluation can be right by
// luck; so a floor is allowed, which is what arithmetic of the formula can lose whatever the order.
// With u = 2^-24, half a unit in the last place of f32:
//   16 u  weights: 2^x in f32 (4 u for the polynomial and its evaluation), once for the weight and
//         once for each correction by a new maximum, in numerator and denominator; sums; division
//    4 u  times the size of the score: rounding of scale, query and products, which the exponential
//         turns into a relative error of the weight. Scores are bounded by the products and, where
//         score steps add to them, by the LSE (or, without a softmax, by the largest score).
// and with h, half a unit in the last place of the type of an f16 or bf16 call:
//    2 h  weights, rounded where they meet the values, in numerator and denominator
//    1 h  values that are transformed
//    2 h  times the size of the products, if queries or keys are transformed; all outputs see it
//    the output itself, at its own size.
// A wrong, lost or doubled key is an error of 10^5 u and more in any of these calls.
#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fovea::test {
namespace {

constexpr double u = 0x1p-24;

double largest_number(fovea_dtype dtype) {
  return dtype == FOVEA_F16 ? 65504 : dtype == FOVEA_BF16 ? 0x1.fep127 : 0x1.fffffep127;
}

// How far rounding can move a number.
double rounding_of(fovea_dtype dtype, double x) {
  return unit_roundoff(dtype) * std::max(std::abs(x), smallest_normal(dtype));
}

double error_of(double value, double exact, double magnitude) {
  const double error = std::abs(value - exact);
  if (error == 0) return 0;
  return magnitude > 0 ? error / magnitude : INFINITY;
}

std::string describe(const char* name, size_t index, double got, double wanted, double error,
                     double allowed) {
  char text[200];
  std::snprintf(text, sizeof(text), "%s[%zu] is %.9g, expected %.9g; error %.3g u, allowed %.3g u",
                name, index, got, wanted, error / u, allowed / u);
  return text;
}

// NaN and infinities: true if they settle the comparison.
bool is_settled(double got, double wanted, bool* equal) {
  if (std::isfinite(got) && std::isfinite(wanted)) return false;
  *equal = std::isnan(wanted) ? std::isnan(got) : got == wanted;
  return true;
}

// A probability below this share of 1 may be flushed to 0.
constexpr double smallest_probability = 1e-30;

// One kind of numbers that a call writes: `width` of them for each row.
struct Series {
  const char* name;
  size_t width;
  const std::vector<float>* got;
  const std::vector<double>* exact;
  const std::vector<double>* plain;
  const std::vector<double>* magnitude;  // null: see magnitude_at
  double smallest_magnitude;
  fovea_dtype dtype;  // of the numbers
  ErrorTally *errors, *plain_errors;

  double magnitude_at(size_t i) const {
    const double size = magnitude != nullptr ? (*magnitude)[i] : std::abs((*exact)[i]);
    // Below that f16 has subnormal numbers only; what is exactly 0 is 0.
    if (dtype == FOVEA_F16 && size != 0) return std::max(size, smallest_normal(dtype));
    return std::max(size, smallest_magnitude);
  }
  // Of a score, of the weight that comes from it, of sums, and of what is kept in 16 bits: see
  // above.
  double floor_at(const Expected& e, fovea_dtype call, size_t row, size_t i) const {
    double floor = u * (16 + 4 * (e.product_magnitude + e.score_magnitude[row]));
    if (call == FOVEA_F32) return floor;
    const double h = unit_roundoff(call);
    if (e.transforms_scores) floor += 2 * h * e.product_magnitude;
    if (dtype == FOVEA_F32 || magnitude_at(i) == 0) return floor;
    return floor + (e.transforms_values ? 3 : 2) * h +
           rounding_of(dtype, (*exact)[i]) / magnitude_at(i);
  }
};

// What of `got` there is to compare.
std::vector<Series> series_of(const Results& got, const Expected& e, ErrorSummary& errors) {
  const ReferenceResult &x = e, &p = e.plain;
  const Series all[] = {
      {"out", static_cast<size_t>(x.d_v), &got.out, &x.out, &p.out, &x.out_magnitude, 0, got.dtype,
       &errors.out, &errors.plain_out},
      {"lse", 1, &got.lse, &x.lse, &p.lse, nullptr, 1, FOVEA_F32, &errors.lse, &errors.plain_lse},
      {"row_max", 1, &got.row_max, &x.row_max, &p.row_max, nullptr, 1, FOVEA_F32, &errors.row_max,
       &errors.plain_row_max},
      {"row_sum", 1, &got.row_sum, &x.row_sum, &p.row_sum, &x.row_sum_magnitude, 0, FOVEA_F32,
       &errors.row_sum, &errors.plain_row_sum},
      {"probabilities", static_cast<size_t>(x.keys), &got.probabilities, &x.probabilities,
       &p.probabilities, &x.probability_magnitude, smallest_probability, FOVEA_F32,
       &errors.probabilities, &errors.plain_probabilities}};
  std::vector<Series> wanted;
  for (const Series& s : all) {
    if (!s.got->empty()) wanted.push_back(s);
  }
  return wanted;
}

}  // namespace

void ErrorTally::add(double error, double floor) {
  largest_ = std::max(largest_, error);
  squares_ += error / floor * (error / floor);
  ++count_;
}

void ErrorTally::add(const ErrorTally& other) {
  largest_ = std::max(largest_, other.largest_);
  squares_ += other.squares_;
  count_ += other.count_;
}

double ErrorTally::typical() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

namespace {

struct NamedErrors {
  const char* name;
  ErrorTally ErrorSummary::* got;
  ErrorTally ErrorSummary::* plain;
};
constexpr NamedErrors named_errors[] = {
    {"out", &ErrorSummary::out, &ErrorSummary::plain_out},
    {"lse", &ErrorSummary::lse, &ErrorSummary::plain_lse},
    {"row_max", &ErrorSummary::row_max, &ErrorSummary::plain_row_max},
    {"row_sum", &ErrorSummary::row_sum, &ErrorSummary::plain_row_sum},
    {"probabilities", &ErrorSummary::probabilities, &ErrorSummary::plain_probabilities}};

}  // namespace

void ErrorSummary::add(const ErrorSummary& other) {
  for (const NamedErrors& n : named_errors) {
    (this->*n.got).add(other.*n.got);
    (this->*n.plain).add(other.*n.plain);
  }
}

std::string ErrorSummary::text() const {
  std::string ratios, largest;
  for (const NamedErrors& n : named_errors) {
    const ErrorTally &got = this->*n.got, &plain = this->*n.plain;
    if (got.count() == 0) continue;
    char text[100];
    std::snprintf(text, sizeof(text), "%s%s %.2f", ratios.empty() ? "" : ", ", n.name,
                  plain.typical() > 0 ? got.typical() / plain.typical() : 0);
    ratios += text;
    std::snprintf(text, sizeof(text), "%s%s %.1f u (%.1f u)", largest.empty() ? "" : ", ", n.name,
                  got.largest() / u, plain.largest() / u);
    largest += text;
  }
  return "typical error over that of the plain evaluation: " + ratios + "; largest: " + largest;
}

Expected expected_results(const Problem& problem, int64_t row_step) {
  return expected_results(problem, problem.call, row_step);
}

Expected expected_results(const Problem& problem, const fovea_call& call, int64_t row_step) {
  const Variant& variant = problem.kernel().declaration();
  const ParameterValues values = parameter_values(variant, problem.params.data());
  ReferenceOptions options;
  options.row_step = row_step;
  Expected e;
  e.plain = plain_attention(variant, call, values, options);
  options.magnitudes = true;
  e.transforms_scores = !variant.query_steps().empty() || !variant.key_steps().empty();
  e.transforms_values = !variant.value_steps().empty();
  static_cast<ReferenceResult&>(e) = reference_attention(variant, call, values, options);
  return e;
}

std::string compare(const Results& got, const Expected& e, ErrorSummary* summary) {
  ErrorSummary errors;
  for (const Series& s : series_of(got, e, errors)) {
    if (s.got->size() != s.exact->size()) return std::string(s.name) + " has another size";
    // What a kernel does not write stands as NaN in the references: rows, and keys past the end.
    const auto for_each = [&](auto f) {
      for (size_t row = 0; row < e.computed.size(); ++row) {
        if (e.computed[row] == 0) continue;
        for (size_t i = row * s.width; i < (row + 1) * s.width; ++i)
          f(i, s.floor_at(e, got.dtype, row, i));
      }
    };
    for_each([&](size_t i, double least) {
      const double wanted = (*s.exact)[i], plain = (*s.plain)[i];
      if (!std::isfinite(wanted) || !std::isfinite(plain)) return;
      s.plain_errors->add(error_of(plain, wanted, s.magnitude_at(i)), least);
    });
    std::string wrong;
    for_each([&](size_t i, double least) {
      const auto value = static_cast<double>((*s.got)[i]);
      const double wanted = (*s.exact)[i];
      if (!wrong.empty()) return;
      // Beyond its type there is no number to compare. Beyond f32, an infinity on the way may have
      // met another.
      const double largest = largest_number(s.dtype);
      if (std::isfinite(wanted) && std::abs(wanted) > largest) {
        const bool is_close = std::abs(wanted) < (1 + 2 * least) * largest;
        const bool is_right =
            s.dtype == FOVEA_F16 ? value == std::copysign(INFINITY, wanted) : !std::isfinite(value);
        if (!is_right && !is_close) wrong = describe(s.name, i, value, wanted, INFINITY, 0);
        return;
      }
      bool equal = false;
      if (is_settled(value, wanted, &equal)) {
        if (!equal) wrong = describe(s.name, i, value, wanted, INFINITY, 0);
        return;
      }
      // Weights that would be subnormal count as 0 (docs/contract.md); values are small numbers.
      if (std::abs(value - wanted) <= 8 * double{std::numeric_limits<float>::min()}) return;
      const double error = error_of(value, wanted, s.magnitude_at(i));
      const double allowed = std::max(2 * s.plain_errors->largest(), least);
      s.errors->add(error, least);
      if (error > allowed) wrong = describe(s.name, i, value, wanted, error, allowed);
    });
    if (!wrong.empty()) return wrong;
  }
  if (summary != nullptr) summary->add(errors);
  return "";
}

void expect_accurate(Problem& problem, ErrorSummary* summary, int64_t row_step) {
  count_case();
  const Results got = problem.checked_run();
  EXPECT_EQ(compare(got, expected_results(problem, row_step), summary), "") << problem.text();
}

}  // namespace fovea::test
