// input_rows.h: the rows of one head of an input tensor as floats, whatever their stored type.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_INPUT_ROWS_H
#define FOVEA_DSL_SRC_INPUT_ROWS_H

#include <fovea/fovea.h>

#include <cstdint>
#include <vector>

namespace fovea::detail {

// Rows 0 … count-1 of tensor[batch][head]. f16 and bf16 are widened exactly; f32 is read in place,
// so the tensor must outlive this. Nothing past row count-1 is touched. Throws
// std::invalid_argument for other types.
class InputRows {
 public:
  InputRows(const fovea_tensor& tensor, int64_t batch, int64_t head, int64_t count);
  InputRows(const InputRows&) = delete;  // first_ may point into widened_
  InputRows& operator=(const InputRows&) = delete;

  const float* row(int64_t index) const { return first_ + index * stride_; }

 private:
  const float* first_ = nullptr;
  int64_t stride_ = 0;
  std::vector<float> widened_;
};

}  // namespace fovea::detail

#endif
