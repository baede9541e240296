// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace transliterate {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void apply(const Dense& layer, const float* x, std::int64_t x_stride, std::int64_t rows, float* y) {
  if (layer.bias != nullptr) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(layer.bias, layer.outputs, y + row * layer.outputs);  // sgemm adds to it
    }
  }
  const auto m = static_cast<blasint>(rows);
  const auto n = static_cast<blasint>(layer.outputs);
  const auto k = static_cast<blasint>(layer.inputs);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0F, x,
              static_cast<blasint>(x_stride), layer.weight, k, layer.bias != nullptr ? 1.0F : 0.0F,
              y, n);
}

void advance(const float* from_input, const float* from_state, std::int64_t size, float* state) {
  for (std::int64_t i = 0; i < size; ++i) {
    const float reset = sigmoid(from_input[i] + from_state[i]);
    const float update = sigmoid(from_input[size + i] + from_state[size + i]);
    const float fresh = std::tanh(from_input[2 * size + i] + reset * from_state[2 * size + i]);
    state[i] = (1 - update) * fresh + update * state[i];
  }
}

void use_one_thread() { openblas_set_num_threads(1); }

void tanh_in_place(std::int64_t count, float* x) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i]);
}

void log_softmax(std::int64_t count, float* x) {
  const float largest = *std::max_element(x, x + count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(x[i] - largest));
  const double shift = largest + std::log(sum);
  for (std::int64_t i = 0; i < count; ++i) x[i] = static_cast<float>(x[i] - shift);
}

}  // namespace transliterate
