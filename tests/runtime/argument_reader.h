// The arguments of a kernel, taken in their order. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "halide_abi.h"

namespace fovea::test {

// A buffer as a kernel gets it: address, type, then extent and stride of each dimension.
struct BufferSeen {
  void* host = nullptr;
  int code = 0, bits = 0;
  std::vector<int32_t> shape;
};

class ArgumentReader {
 public:
  explicit ArgumentReader(void** argv) : next_(argv) {}

  int32_t integer() {
    int32_t value = 0;
    std::memcpy(&value, *next_++, sizeof(value));
    return value;
  }
  void* pointer() {
    void* value = nullptr;
    std::memcpy(&value, *next_++, sizeof(value));
    return value;
  }
  void skip() { ++next_; }
  const detail::HalideBuffer& raw() { return *static_cast<const detail::HalideBuffer*>(*next_++); }
  BufferSeen buffer() {
    const detail::HalideBuffer& raw_buffer = raw();
    BufferSeen seen = {raw_buffer.host, raw_buffer.type.code, raw_buffer.type.bits, {}};
    for (int32_t i = 0; i < raw_buffer.dimensions; ++i) {
      seen.shape.push_back(raw_buffer.dim[i].extent);
      seen.shape.push_back(raw_buffer.dim[i].stride);
    }
    return seen;
  }

 private:
  void** next_;
};

}  // namespace fovea::test
