// strided_tensor.h: tensors of any layout in guarded memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_STRIDED_TENSOR_H
#define FOVEA_TESTS_SUPPORT_STRIDED_TENSOR_H

#include <fovea/dsl/half_precision.h>
#include <fovea/fovea.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "guarded_memory.h"
#include "random.h"

namespace fovea::test {

// Where the elements of a tensor lie. Axes: 0 batch, 1 head, 2 row.
struct Layout {
  std::array<int, 3> order = {0, 1, 2};  // from the outermost axis to the innermost
  std::array<int64_t, 3> gap = {};       // unused elements after each item of an axis
  std::array<bool, 3> reversed = {};     // negative stride
  std::array<bool, 3> shared = {};       // stride 0: all items of the axis are one
  Edge edge = Edge::End;                 // which unreadable page the elements lie against
  int64_t distance = 0;                  // elements between them and that page
  int64_t last_stride = 1;               // of the last axis, positive or negative
  std::string text() const;
};

inline Layout bhsd() { return {}; }
inline Layout bshd() {
  Layout layout;
  layout.order = {0, 2, 1};
  return layout;
}
Layout random_layout(Random& random, bool may_share);

// A number in memory, of any float type: it is read as f32, and rounded when it is written.
class StoredElement {
 public:
  StoredElement(void* address, fovea_dtype dtype) : address_(address), dtype_(dtype) {}
  StoredElement(const StoredElement&) = default;
  operator float() const { return load_element(address_, dtype_); }
  const StoredElement& operator=(float x) const {
    store_element(address_, dtype_, x);
    return *this;
  }
  StoredElement& operator=(const StoredElement& other) {
    *this = static_cast<float>(other);
    return *this;
  }
  unsigned char* address() const { return static_cast<unsigned char*>(address_); }

 private:
  void* address_;
  fovea_dtype dtype_;
};

// Elements of f32, f16 or bf16, all NaN at first.
class StridedTensor {
 public:
  StridedTensor() = default;
  // Only the first `stored_rows` rows exist in memory if that is not negative; rows must then be
  // outermost, or alone.
  StridedTensor(fovea_dtype dtype, const std::array<int64_t, 4>& extent, const Layout& layout,
                int64_t stored_rows = -1);
  // A view into memory of somebody else, at `first` elements from its start.
  StridedTensor(fovea_dtype dtype, std::shared_ptr<GuardedMemory> memory, int64_t first,
                const std::array<int64_t, 4>& extent, const std::array<int64_t, 4>& stride);

  const fovea_tensor& view() const { return view_; }
  StoredElement at(int64_t b, int64_t h, int64_t row, int64_t d = 0) const {
    const int64_t element =
        b * view_.stride[0] + h * view_.stride[1] + row * view_.stride[2] + d * view_.stride[3];
    return {static_cast<unsigned char*>(view_.data) + element * element_size(view_.dtype),
            view_.dtype};
  }
  const std::shared_ptr<GuardedMemory>& memory() const { return memory_; }

 private:
  std::shared_ptr<GuardedMemory> memory_;
  fovea_tensor view_ = {};
};

}  // namespace fovea::test

#endif
