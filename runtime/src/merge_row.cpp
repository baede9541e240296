// One row of every part becomes one row.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "elements.h"
#include "merge.h"

namespace fovea::detail {
namespace {

// Features that are summed at a time. A row of up to this many takes one exponential a part.
constexpr int64_t kChunk = 512;
// Features of an inner loop: their number is known, so that it becomes vector code without a check,
// and is too large for a compiler to write them all out one by one instead.
constexpr int64_t kBlock = 32;

struct Place {
  int64_t batch, head, row;
};

template <typename Element>
Element* elements_at(const fovea_tensor& tensor, const Place& at) {
  return static_cast<Element*>(tensor.data) + at.batch * tensor.stride[0] +
         at.head * tensor.stride[1] + at.row * tensor.stride[2];
}

float lse_at(const fovea_partial& part, const Place& at) {
  return *elements_at<const float>(part.lse, at);
}

template <typename Operation>
inline void for_each(int64_t count, const Operation& operation) {
  int64_t j = 0;
  for (; j + kBlock <= count; j += kBlock) {
    for (int64_t i = 0; i < kBlock; ++i) operation(j + i);
  }
  for (; j < count; ++j) operation(j);
}

// Some features of a row as f32: where they are, or in `memory`.
const float* widened_row(const float* row, int64_t, float*) { return row; }
template <typename Element>
const float* widened_row(const Element* row, int64_t count, float* __restrict memory) {
  for_each(count, [=](int64_t j) { memory[j] = widened(row[j]); });
  return memory;
}

// sums = weight * row, or += with parts before this one (0 plus the first would make +0 of -0). In
// double: products of f32 numbers and weights neither overflow nor vanish, and the order and the
// number of the parts hardly matter. In f32 a merge would take two thirds of the time, which is
// short beside the attention of the parts.
template <typename Element>
void add_row(const Element* row, double weight, int64_t count, bool is_first,
             double* __restrict sums) {
  float memory[kChunk];
  const float* numbers = widened_row(row, count, memory);
  if (is_first) {
    for_each(count, [=](int64_t j) { sums[j] = weight * static_cast<double>(numbers[j]); });
  } else {
    for_each(count, [=](int64_t j) { sums[j] += weight * static_cast<double>(numbers[j]); });
  }
}

void add(const fovea_tensor& out, const Place& at, int64_t first, double weight, int64_t count,
         bool is_first, double* sums) {
  switch (out.dtype) {
    case FOVEA_F16:
      add_row(elements_at<const F16>(out, at) + first, weight, count, is_first, sums);
      break;
    case FOVEA_BF16:
      add_row(elements_at<const Bf16>(out, at) + first, weight, count, is_first, sums);
      break;
    default:
      add_row(elements_at<const float>(out, at) + first, weight, count, is_first, sums);
  }
}

template <typename Element>
void store_row(const double* __restrict sums, double scale, int64_t count,
               Element* __restrict out) {
  float numbers[kChunk];
  for_each(count, [=, &numbers](int64_t j) { numbers[j] = static_cast<float>(sums[j] * scale); });
  for_each(count, [=, &numbers](int64_t j) { round_to(numbers[j], out + j); });
}

void store(const double* sums, double scale, int64_t count, const fovea_tensor& out,
           const Place& at, int64_t first) {
  switch (out.dtype) {
    case FOVEA_F16:
      store_row(sums, scale, count, elements_at<F16>(out, at) + first);
      break;
    case FOVEA_BF16:
      store_row(sums, scale, count, elements_at<Bf16>(out, at) + first);
      break;
    default:
      store_row(sums, scale, count, elements_at<float>(out, at) + first);
  }
}

// The largest LSE of a row: -infinity if no part has a key for it, NaN if one is NaN or +infinity,
// which no sum of exponentials of finite scores is.
float largest_lse(const Merge& merge, const Place& at) {
  float largest = -INFINITY;
  bool is_valid = true;
  for (int64_t i = 0; i < merge.count; ++i) {
    const float lse = lse_at(merge.parts[i], at);
    is_valid = is_valid && lse < INFINITY;
    largest = lse > largest ? lse : largest;
  }
  return is_valid ? largest : NAN;
}

// Weighted sums of some features over the parts, in their order, and the sum of the weights, which
// are relative to the largest: the part that has it weighs exactly 1, and alone stays as it is.
double sum_parts(const Merge& merge, const Place& at, double largest, int64_t first, int64_t count,
                 double* sums) {
  double total = 0;
  bool is_first = true;
  for (int64_t i = 0; i < merge.count; ++i) {
    const double lse = static_cast<double>(lse_at(merge.parts[i], at));
    if (lse == -INFINITY) continue;  // without keys: whatever its row holds is not read
    const double weight = lse == largest ? 1.0 : exp(lse - largest);
    add(merge.parts[i].out, at, first, weight, count, is_first, sums);
    total += weight;
    is_first = false;
  }
  return total;
}

}  // namespace

void merge_row(const Merge& merge, int64_t batch, int64_t head, int64_t row) {
  const Place at = {batch, head, row};
  const fovea_tensor& out = merge.merged.out;
  const int64_t features = out.extent[3];
  const double largest = static_cast<double>(largest_lse(merge, at));
  double lse = largest;
  double sums[kChunk];
  // Of each chunk all parts are read before the result is written, and the row's LSE comes last: a
  // part may lie where the result goes.
  int64_t first = 0;
  do {
    const int64_t count = features - first < kChunk ? features - first : kChunk;
    double scale = 1;
    if (isfinite(largest)) {
      const double total = sum_parts(merge, at, largest, first, count, sums);
      scale = 1 / total;
      lse = largest + log(total);
    } else {
      const double everywhere = isnan(largest) ? largest : 0;
      for (int64_t j = 0; j < count; ++j) sums[j] = everywhere;
    }
    store(sums, scale, count, out, at, first);
    first += count;
  } while (first < features);
  if (merge.merged.lse.data != nullptr)
    *elements_at<float>(merge.merged.lse, at) = static_cast<float>(lse);
}

}  // namespace fovea::detail
