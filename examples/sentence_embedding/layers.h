// The row-wise layers of a transformer encoder. Matrices are row-major; rows may be apart by more
// than their length.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_LAYERS_H_
#define SENTENCE_EMBEDDING_LAYERS_H_

#include <cstdint>

namespace sentence_embedding {

// Weights of y = x · weightᵀ + bias, as PyTorch stores them: weight [outputs, inputs], bias
// [outputs].
struct Dense {
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

struct LayerNorm {
  const float* weight = nullptr;  // [size]
  const float* bias = nullptr;    // [size]
  std::int64_t size = 0;
  float epsilon = 0;
};

// y [rows, outputs], rows y_stride apart, from x [rows, inputs], dense. x and y must not overlap.
void apply(const Dense& layer, const float* x, std::int64_t rows, float* y, std::int64_t y_stride);

// x [rows, size], in place: (x - mean) / sqrt(variance + epsilon) · weight + bias.
void apply(const LayerNorm& layer, float* x, std::int64_t rows);

// x[i] += y[i]
void add(const float* y, std::int64_t count, float* x);

// In place, the exact form x/2 · (1 + erf(x/√2)), not the tanh approximation: the model was trained
// with it.
void gelu(std::int64_t count, float* x);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_LAYERS_H_
