// input_rows.cpp: f32, f16 and bf16 storage to float.
// SPDX-License-Identifier: Apache-2.0
#include "input_rows.h"

#include <Halide.h>

#include <stdexcept>
#include <string>

namespace fovea::detail {
namespace {

template <typename Stored>
std::vector<float> widen(const uint16_t* first, int64_t stride, int64_t count, int64_t features) {
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(count * features));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t d = 0; d < features; ++d) {
      rows.push_back(static_cast<float>(Stored::make_from_bits(first[row * stride + d])));
    }
  }
  return rows;
}

}  // namespace

InputRows::InputRows(const fovea_tensor& tensor, int64_t batch, int64_t head, int64_t count) {
  const int64_t offset = batch * tensor.stride[0] + head * tensor.stride[1];
  const int64_t features = tensor.extent[3];
  if (tensor.dtype == FOVEA_F32) {
    first_ = static_cast<const float*>(tensor.data) + offset;
    stride_ = tensor.stride[2];
    return;
  }
  const uint16_t* first = static_cast<const uint16_t*>(tensor.data) + offset;
  if (tensor.dtype == FOVEA_F16) {
    widened_ = widen<Halide::float16_t>(first, tensor.stride[2], count, features);
  } else if (tensor.dtype == FOVEA_BF16) {
    widened_ = widen<Halide::bfloat16_t>(first, tensor.stride[2], count, features);
  } else {
    throw std::invalid_argument("fovea: the reference reads f32, f16 and bf16, not dtype " +
                                std::to_string(static_cast<int>(tensor.dtype)));
  }
  first_ = widened_.data();
  stride_ = features;
}

}  // namespace fovea::detail
