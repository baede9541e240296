// The row-wise layers of the model. Matrices are row-major.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_LAYERS_H_
#define GENERATE_LAYERS_H_

#include <cstdint>
#include <vector>

namespace generate {

// y = x · weightᵀ, weight [outputs, inputs] as PyTorch stores it.
struct Dense {
  std::vector<float> weight;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

enum class Sum { Set, Add };

// y [rows, outputs] = or += x [rows, inputs] · weightᵀ
void apply(const Dense& layer, const float* x, std::int64_t rows, Sum sum, float* y);

// y [rows, size] = x / sqrt(mean(x²) + epsilon) · weight
void rms_norm(const std::vector<float>& weight, double epsilon, const float* x, std::int64_t rows,
              float* y);

// y [rows, hidden] = silu(gate) · up, both in x [rows, 2 · hidden]: [gate | up]
void gated_silu(const float* x, std::int64_t rows, std::int64_t hidden, float* y);

}  // namespace generate

#endif  // GENERATE_LAYERS_H_
