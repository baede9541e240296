// The arithmetic around attention: matrix products by OpenBLAS, gates, log-softmax. Matrices are
// row-major.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transliterate {

// y = x · weightᵀ + bias. weight [outputs, inputs], bias [outputs] or null.
struct Dense {
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

// A gated recurrent unit. Both products make the gates in the order reset, update, new.
struct Gru {
  Dense from_input;
  Dense from_state;
  std::int64_t size() const { return from_state.inputs; }
};

// y [rows, outputs], dense, from x [rows, inputs], rows x_stride apart. They must not overlap.
void apply(const Dense& layer, const float* x, std::int64_t x_stride, std::int64_t rows, float* y);

// One step of one sequence, state [size] in place:
//   r = σ(from_input_r + from_state_r)   z = σ(from_input_z + from_state_z)
//   n = tanh(from_input_n + r · from_state_n)   state = (1 - z) · n + z · state
void advance(const float* from_input, const float* from_state, std::int64_t size, float* state);

// Of OpenBLAS, for the whole process: the products of one step are so small that threads which wait
// for them cost more than they help.
void use_one_thread();

void tanh_in_place(std::int64_t count, float* x);

// x[i] -= ln Σ_j exp(x[j])
void log_softmax(std::int64_t count, float* x);

}  // namespace transliterate
