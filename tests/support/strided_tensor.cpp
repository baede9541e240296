// SPDX-License-Identifier: Apache-2.0
#include "strided_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace fovea::test {

std::string Layout::text() const {
  std::string result = "[";
  for (const int axis : order) {
    result += "bhs"[axis];
    if (gap[axis] != 0) result += "+" + std::to_string(gap[axis]);
    if (reversed[axis]) result += " reversed";
    if (shared[axis]) result += " shared";
    result += ' ';
  }
  if (last_stride != 1) result += "last*" + std::to_string(last_stride) + " ";
  return result + (edge == Edge::Start ? "start+" : "end-") + std::to_string(distance) + "]";
}

Layout random_layout(Random& random, bool may_share) {
  Layout layout;
  for (int i = 2; i > 0; --i) std::swap(layout.order[i], layout.order[random.integer(0, i)]);
  for (int axis = 0; axis < 3; ++axis) {
    if (random.chance(0.3)) layout.gap[axis] = random.integer(1, 9);
    layout.reversed[axis] = random.chance(0.15);
    layout.shared[axis] = may_share && random.chance(0.08);
  }
  layout.edge = random.chance(0.3) ? Edge::Start : Edge::End;
  layout.distance = random.chance(0.3) ? random.integer(1, 15) : 0;
  return layout;
}

StridedTensor::StridedTensor(fovea_dtype dtype, const std::array<int64_t, 4>& extent,
                             const Layout& layout, int64_t stored_rows) {
  const int64_t size = element_size(dtype);
  view_.dtype = dtype;
  std::copy(extent.begin(), extent.end(), view_.extent);
  view_.stride[3] = layout.last_stride;
  const bool has_elements =
      std::all_of(extent.begin(), extent.end(), [](int64_t n) { return n > 0; });
  std::array<int64_t, 3> stored = {extent[0], extent[1], stored_rows < 0 ? extent[2] : stored_rows};
  // From the innermost axis outwards; the size ends with the last element, without the gaps after
  // it.
  const int64_t before_last = std::max<int64_t>(extent[3] - 1, 0) * std::abs(layout.last_stride);
  int64_t item = extent[3] > 0 ? before_last + 1 : 0, last = item;
  int64_t first = layout.last_stride < 0 ? before_last : 0;
  for (int i = 2; i >= 0; --i) {
    const int axis = layout.order[i];
    const int64_t count = layout.shared[axis] ? std::min<int64_t>(stored[axis], 1) : stored[axis];
    const int64_t step = item + layout.gap[axis];
    view_.stride[axis] = layout.shared[axis] ? 0 : layout.reversed[axis] ? -step : step;
    if (count > 1) {
      last += (count - 1) * step;
      if (layout.reversed[axis]) first += (count - 1) * step;
    }
    item = step * std::max<int64_t>(count, 1);
  }
  const bool is_stored = has_elements && stored[2] > 0;
  // Rows that are not stored still belong to the tensor.
  const int64_t missing = (extent[2] - stored[2]) * std::abs(view_.stride[2]);
  memory_ = std::make_shared<GuardedMemory>(
      is_stored ? static_cast<size_t>(last * size) : 0, layout.edge,
      static_cast<size_t>(layout.distance * size), static_cast<size_t>(missing * size));
  view_.data = memory_->data() + (is_stored ? first * size : 0);
}

StridedTensor::StridedTensor(fovea_dtype dtype, std::shared_ptr<GuardedMemory> memory,
                             int64_t first, const std::array<int64_t, 4>& extent,
                             const std::array<int64_t, 4>& stride)
    : memory_(std::move(memory)) {
  view_.dtype = dtype;
  std::copy(extent.begin(), extent.end(), view_.extent);
  std::copy(stride.begin(), stride.end(), view_.stride);
  view_.data = memory_->data() + first * element_size(dtype);
}

}  // namespace fovea::test
