// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sentence_embedding {

void apply(const Dense& layer, const float* x, std::int64_t rows, float* y, std::int64_t y_stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(layer.bias, layer.outputs, y + row * y_stride);  // sgemm adds to it
  }
  const auto m = static_cast<blasint>(rows);
  const auto n = static_cast<blasint>(layer.outputs);
  const auto k = static_cast<blasint>(layer.inputs);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0F, x, k, layer.weight, k, 1.0F,
              y, static_cast<blasint>(y_stride));
}

void apply(const LayerNorm& layer, float* x, std::int64_t rows) {
  const auto size = static_cast<double>(layer.size);
  for (std::int64_t row = 0; row < rows; ++row, x += layer.size) {
    // Sums in double: the variance of 384 floats around their mean would otherwise lose digits to
    // cancellation.
    double sum = 0;
    for (std::int64_t i = 0; i < layer.size; ++i) sum += x[i];
    const double mean = sum / size;
    double squares = 0;
    for (std::int64_t i = 0; i < layer.size; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / std::sqrt(squares / size + layer.epsilon);
    for (std::int64_t i = 0; i < layer.size; ++i) {
      x[i] = static_cast<float>((x[i] - mean) * factor) * layer.weight[i] + layer.bias[i];
    }
  }
}

void add(const float* y, std::int64_t count, float* x) {
  for (std::int64_t i = 0; i < count; ++i) x[i] += y[i];
}

void gelu(std::int64_t count, float* x) {
  constexpr float kInverseRoot2 = 1 / std::numbers::sqrt2_v<float>;
  for (std::int64_t i = 0; i < count; ++i) x[i] *= 0.5F * (1 + std::erf(x[i] * kInverseRoot2));
}

}  // namespace sentence_embedding
