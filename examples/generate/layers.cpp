// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <cblas.h>

#include <cmath>

namespace generate {

void apply(const Dense& layer, const float* x, std::int64_t rows, Sum sum, float* y) {
  const auto m = static_cast<blasint>(rows);
  const auto n = static_cast<blasint>(layer.outputs);
  const auto k = static_cast<blasint>(layer.inputs);
  const float beta = sum == Sum::Add ? 1.0F : 0.0F;
  const float* const weight = layer.weight.data();
  if (rows == 1) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0F, weight, k, x, 1, beta, y, 1);
  } else {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0F, x, k, weight, k, beta, y,
                n);
  }
}

void rms_norm(const std::vector<float>& weight, double epsilon, const float* x, std::int64_t rows,
              float* y) {
  const auto size = static_cast<std::int64_t>(weight.size());
  for (std::int64_t row = 0; row < rows; ++row, x += size, y += size) {
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) squares += double{x[i]} * x[i];
    const auto factor =
        static_cast<float>(1 / std::sqrt(squares / static_cast<double>(size) + epsilon));
    for (std::int64_t i = 0; i < size; ++i)
      y[i] = x[i] * factor * weight[static_cast<std::size_t>(i)];
  }
}

void gated_silu(const float* x, std::int64_t rows, std::int64_t hidden, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += 2 * hidden, y += hidden) {
    for (std::int64_t i = 0; i < hidden; ++i) y[i] = x[i] / (1 + std::exp(-x[i])) * x[hidden + i];
  }
}

}  // namespace generate
