// SPDX-License-Identifier: Apache-2.0
#include "merge_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fovea::test {

MergeCase::MergeCase(const Rows& rows, const std::vector<fovea_dtype>& part_dtypes,
                     fovea_dtype dtype)
    : size(rows) {
  const std::array<int64_t, 4> shape = {rows.batch, rows.heads, rows.rows, rows.features};
  const std::array<int64_t, 4> numbers = {rows.batch, rows.heads, rows.rows, 1};
  for (const fovea_dtype part : part_dtypes) {
    outs.emplace_back(part, shape, bhsd());
    lses.emplace_back(FOVEA_F32, numbers, bhsd());
  }
  out = StridedTensor(dtype, shape, bhsd());
  lse = StridedTensor(FOVEA_F32, numbers, bhsd());
  describe_();
}

MergeCase::MergeCase(const Rows& rows, const std::vector<fovea_dtype>& part_dtypes,
                     fovea_dtype dtype, Random& random)
    : size(rows) {
  const std::array<int64_t, 4> shape = {rows.batch, rows.heads, rows.rows, rows.features};
  const std::array<int64_t, 4> numbers = {rows.batch, rows.heads, rows.rows, 1};
  for (const fovea_dtype part : part_dtypes) {
    outs.emplace_back(part, shape, random_layout(random, true));
    lses.emplace_back(FOVEA_F32, numbers, random_layout(random, true));
  }
  out = StridedTensor(dtype, shape, random_layout(random, false));
  lse = StridedTensor(FOVEA_F32, numbers, random_layout(random, false));
  describe_();
}

void MergeCase::describe_() {
  for (size_t i = 0; i < outs.size(); ++i) parts.push_back({outs[i].view(), lses[i].view()});
  merged = {out.view(), lse.view()};
}

void MergeCase::fill(Random& random, double low, double high) {
  for (size_t i = 0; i < outs.size(); ++i) {
    for (int64_t b = 0; b < size.batch; ++b) {
      for (int64_t h = 0; h < size.heads; ++h) {
        for (int64_t row = 0; row < size.rows; ++row) {
          lses[i].at(b, h, row) = static_cast<float>(random.real(low, high));
          for (int64_t d = 0; d < size.features; ++d) outs[i].at(b, h, row, d) = random.normal();
        }
      }
    }
  }
}

std::vector<float> MergeCase::results() const {
  std::vector<float> all;
  for (int64_t b = 0; b < size.batch; ++b) {
    for (int64_t h = 0; h < size.heads; ++h) {
      for (int64_t row = 0; row < size.rows; ++row) {
        for (int64_t d = 0; d < size.features; ++d) all.push_back(out.at(b, h, row, d));
        if (merged.lse.data != nullptr) all.push_back(lse.at(b, h, row));
      }
    }
  }
  return all;
}

namespace {

// Whether `got` is what some number within `error` of `expected` is rounded to.
bool is_rounded(fovea_dtype dtype, double got, double expected, double error) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) == std::isnan(got);
  const auto rounded = [&](double x) {
    return static_cast<double>(rounded_to(dtype, static_cast<float>(x)));
  };
  return rounded(expected - error) <= got && got <= rounded(expected + error);
}

}  // namespace

std::string MergeCase::row_difference_(int64_t b, int64_t h, int64_t row) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double top = -infinity;
  bool is_valid = true;
  for (const StridedTensor& part : lses) {
    const double x = part.at(b, h, row);
    is_valid = is_valid && x < infinity;
    top = std::max(top, x);
  }
  double total = 0;
  std::vector<double> sums(static_cast<size_t>(size.features)), sizes(sums.size());
  for (size_t i = 0; i < outs.size(); ++i) {
    const double x = lses[i].at(b, h, row);
    if (!is_valid || x == -infinity) continue;
    const double weight = std::exp(x - top);
    total += weight;
    for (size_t d = 0; d < sums.size(); ++d) {
      const double number = outs[i].at(b, h, row, static_cast<int64_t>(d));
      sums[d] += weight * number;
      sizes[d] += weight * std::fabs(number);
    }
  }
  const std::string place = " of row " + std::to_string(b) + ' ' + std::to_string(h) + ' ' +
                            std::to_string(row) + ": got ";
  for (size_t d = 0; d < sums.size(); ++d) {
    const double expected = !is_valid ? nan : total == 0 ? 0 : sums[d] / total;
    const double error = std::isfinite(expected) ? 1e-13 * sizes[d] / std::max(total, 1.0) : 0;
    const double got = out.at(b, h, row, static_cast<int64_t>(d));
    if (!is_rounded(out.view().dtype, got, expected, error)) {
      return "out " + std::to_string(d) + place + std::to_string(got) + ", expected " +
             std::to_string(expected);
    }
  }
  if (merged.lse.data == nullptr) return "";
  const double expected = !is_valid ? nan : total == 0 ? -infinity : top + std::log(total);
  const double error = std::isfinite(expected) ? 1e-14 * (std::fabs(expected) + 1) : 0;
  const double got = lse.at(b, h, row);
  if (is_rounded(FOVEA_F32, got, expected, error)) return "";
  return "lse" + place + std::to_string(got) + ", expected " + std::to_string(expected);
}

std::string MergeCase::difference() const {
  for (int64_t b = 0; b < size.batch; ++b) {
    for (int64_t h = 0; h < size.heads; ++h) {
      for (int64_t row = 0; row < size.rows; ++row) {
        std::string text = row_difference_(b, h, row);
        if (!text.empty()) return text;
      }
    }
  }
  if (!out.memory()->untouched_outside()) return "written outside of out";
  if (!lse.memory()->untouched_outside()) return "written outside of lse";
  return "";
}

RowPart merged_row(const std::vector<RowPart>& row_parts) {
  const auto features = static_cast<int64_t>(row_parts[0].out.size());
  std::vector<fovea_partial> parts;
  for (const RowPart& part : row_parts) {
    parts.push_back(
        {tensor(part.out.data(), {1, 1, 1, features}), tensor(&part.lse, {1, 1, 1, 1})});
  }
  RowPart result = {std::vector<float>(row_parts[0].out.size(), -7), -7};
  const Status status =
      merge(parts.data(), static_cast<int64_t>(parts.size()),
            {tensor(result.out.data(), {1, 1, 1, features}), lse_tensor(&result.lse, 1, 1, 1)});
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

}  // namespace fovea::test
