// SPDX-License-Identifier: Apache-2.0
//
// The accuracy rule: a kernel's error is at most twice that of plain f32 over the same call.
//
// Errors are measured against the magnitude of an output, sum w |v| (of an LSE: its absolute value,
// at least 1), so that rows of different size count alike. In a call of few numbers plain f32 can
// be right by luck; so a floor is allowed, which is what f32 arithmetic of the formula can lose
// whatever the order. With u = 2^-24, half a unit in the last place of f32:
//   16 u  weights: 2^x in f32 (4 u for the polynomial and its evaluation), once for the weight and
//         once for each correction by a new maximum, in numerator and denominator; sums; division
//    4 u  times the size of the score: rounding of scale, query and products, which the exponential
//         turns into a relative error of the weight. Scores are bounded by the products and, where
//         score steps add to them, by the LSE.
// A wrong, lost or doubled key is an error of 10^5 u and more in any of these calls.
#include "comparison.h"

#include <fovea/dsl/reference.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fovea::test {
namespace {

constexpr double u = 0x1p-24;

// Of a score, of the weight that comes from it, and of sums: see above.
double floor_of(double largest_product, double lse) {
  const double score = largest_product + (std::isfinite(lse) ? std::abs(lse) : 0);
  return u * (16 + 4 * score);
}

double error_of(double value, double exact, double magnitude) {
  const double error = std::abs(value - exact);
  if (error == 0) return 0;
  return magnitude > 0 ? error / magnitude : INFINITY;
}

double lse_magnitude(double lse) { return std::max(1.0, std::abs(lse)); }

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

double largest_norm(const StridedTensor& t, int64_t b, int64_t heads, int64_t rows) {
  double largest = 0;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t d = 0; d < t.view().extent[3]; ++d) {
        sum += static_cast<double>(t.at(b, h, i, d)) * static_cast<double>(t.at(b, h, i, d));
      }
      if (std::isfinite(sum)) largest = std::max(largest, sum);
    }
  }
  return std::sqrt(largest);
}

// The reference over values (v, |v|): its second half are the magnitudes.
ReferenceResult with_magnitudes(const Problem& problem, const ParameterValues& values,
                                const ReferenceOptions& options) {
  const CallSetup& s = problem.setup();
  const int64_t d_v = problem.kernel().info().d_v;
  const auto rows = static_cast<size_t>(s.batch * s.kv_heads * s.kv_rows);
  std::vector<float> both(rows * static_cast<size_t>(2 * d_v));
  fovea_call call = problem.call;
  call.v.data = both.data();
  call.v.extent[3] = 2 * d_v;
  call.v.stride[3] = 1;
  call.v.stride[2] = 2 * d_v;
  call.v.stride[1] = s.kv_rows * 2 * d_v;
  call.v.stride[0] = s.kv_heads * s.kv_rows * 2 * d_v;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.kv_heads; ++h) {
      for (int64_t i = 0; i < s.kv_len_of(b); ++i) {
        float* row = &both[static_cast<size_t>(((b * s.kv_heads + h) * s.kv_rows + i) * 2 * d_v)];
        for (int64_t d = 0; d < d_v; ++d) {
          row[d] = problem.v.at(b, h, i, d);
          row[d + d_v] = std::abs(row[d]);
        }
      }
    }
  }
  return reference_attention(problem.kernel().declaration(), call, values, options);
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

void ErrorSummary::add(const ErrorSummary& other) {
  out.add(other.out);
  plain_out.add(other.plain_out);
  lse.add(other.lse);
  plain_lse.add(other.plain_lse);
}

std::string ErrorSummary::text() const {
  const auto ratio = [](const ErrorTally& a, const ErrorTally& b) {
    return b.typical() > 0 ? a.typical() / b.typical() : 0;
  };
  char text[200];
  std::snprintf(
      text, sizeof(text),
      "typical error over that of plain f32: out %.2f, lse %.2f; largest: out %.1f u (%.1f "
      "u), lse %.1f u (%.1f u)",
      ratio(out, plain_out), ratio(lse, plain_lse), out.largest() / u, plain_out.largest() / u,
      lse.largest() / u, plain_lse.largest() / u);
  return text;
}

Expected expected_results(const Problem& problem, int64_t row_step) {
  const Variant& variant = problem.kernel().declaration();
  const ParameterValues values = parameter_values(variant, problem.params.data());
  const ReferenceOptions options{row_step};
  const ReferenceResult exact = with_magnitudes(problem, values, options);
  ReferenceResult plain = plain_f32_attention(variant, problem.call, values, options);
  Expected e{exact.batch,          exact.heads, exact.rows, problem.kernel().info().d_v,
             exact.computed,       {},          exact.lse,  std::move(plain.out),
             std::move(plain.lse), {},          0};
  const auto d_v = static_cast<size_t>(e.d_v);
  for (size_t row = 0; row < exact.computed.size(); ++row) {
    const auto first = exact.out.begin() + static_cast<std::ptrdiff_t>(row * 2 * d_v);
    const auto middle = first + e.d_v;
    e.out.insert(e.out.end(), first, middle);
    e.magnitude.insert(e.magnitude.end(), middle, middle + e.d_v);
  }
  const CallSetup& s = problem.setup();
  const double d_qk = problem.kernel().info().d_qk;
  const double scale = s.scale ? std::abs(static_cast<double>(*s.scale)) : 1 / std::sqrt(d_qk);
  for (int64_t b = 0; b < s.batch; ++b) {
    e.largest_product =
        std::max(e.largest_product, scale * largest_norm(problem.q, b, s.heads, s.q_len_of(b)) *
                                        largest_norm(problem.k, b, s.kv_heads, s.kv_len_of(b)));
  }
  return e;
}

namespace {

ErrorSummary plain_errors(const Expected& e) {
  const auto d_v = static_cast<size_t>(e.d_v);
  ErrorSummary plain;
  for (size_t row = 0; row < e.computed.size(); ++row) {
    if (e.computed[row] == 0) continue;
    const double least = floor_of(e.largest_product, e.lse[row]);
    for (size_t i = row * d_v; i < (row + 1) * d_v; ++i) {
      if (!std::isfinite(e.out[i]) || !std::isfinite(e.plain_out[i])) continue;
      plain.plain_out.add(error_of(e.plain_out[i], e.out[i], e.magnitude[i]), least);
    }
    if (!std::isfinite(e.lse[row]) || !std::isfinite(e.plain_lse[row])) continue;
    plain.plain_lse.add(error_of(e.plain_lse[row], e.lse[row], lse_magnitude(e.lse[row])), least);
  }
  return plain;
}

}  // namespace

std::string compare(const Results& got, const Expected& e, ErrorSummary* summary) {
  const auto d_v = static_cast<size_t>(e.d_v);
  if (got.out.size() != e.out.size()) return "out has another size";
  ErrorSummary errors = plain_errors(e);
  for (size_t row = 0; row < e.computed.size(); ++row) {
    if (e.computed[row] == 0) continue;
    const double least = floor_of(e.largest_product, e.lse[row]);
    const auto check = [&](const char* name, size_t index, float got_value, double wanted,
                           double magnitude, const ErrorTally& plain,
                           ErrorTally& tally) -> std::string {
      const auto value = static_cast<double>(got_value);
      bool equal = false;
      if (is_settled(value, wanted, &equal)) {
        return equal ? "" : describe(name, index, value, wanted, INFINITY, 0);
      }
      const double error = error_of(value, wanted, magnitude);
      const double allowed = std::max(2 * plain.largest(), least);
      tally.add(error, least);
      return error <= allowed ? "" : describe(name, index, value, wanted, error, allowed);
    };
    for (size_t i = row * d_v; i < (row + 1) * d_v; ++i) {
      const std::string wrong =
          check("out", i, got.out[i], e.out[i], e.magnitude[i], errors.plain_out, errors.out);
      if (!wrong.empty()) return wrong;
    }
    if (got.lse.empty()) continue;
    const std::string wrong = check("lse", row, got.lse[row], e.lse[row], lse_magnitude(e.lse[row]),
                                    errors.plain_lse, errors.lse);
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
