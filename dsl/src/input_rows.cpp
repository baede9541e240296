// input_rows.cpp: f32, f16 and bf16 storage to float.
// SPDX-License-Identifier: Apache-2.0
#include "input_rows.h"

#include <fovea/dsl/half_precision.h>

namespace fovea::detail {

InputRows::InputRows(const fovea_tensor& tensor, int64_t batch, int64_t head, int64_t count) {
  const int64_t offset = batch * tensor.stride[0] + head * tensor.stride[1];
  const int64_t features = tensor.extent[3];
  if (tensor.dtype == FOVEA_F32) {
    first_ = static_cast<const float*>(tensor.data) + offset;
    stride_ = tensor.stride[2];
    return;
  }
  const int64_t size = element_size(tensor.dtype);
  const unsigned char* first = static_cast<const unsigned char*>(tensor.data) + offset * size;
  widened_.reserve(static_cast<size_t>(count * features));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t d = 0; d < features; ++d) {
      widened_.push_back(load_element(first + (row * tensor.stride[2] + d) * size, tensor.dtype));
    }
  }
  first_ = widened_.data();
  stride_ = features;
}

}  // namespace fovea::detail
