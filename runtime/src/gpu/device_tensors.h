// Tensors and tables of a call in memory of its device, and the copies that were asked for.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_TENSORS_H
#define FOVEA_GPU_DEVICE_TENSORS_H

#include "../views.h"
#include "device_work.h"

namespace fovea::detail {

class Tensors {
 public:
  Tensors(const Problem& problem, DeviceCall* call) : problem_(problem), call_(call) {}
  ~Tensors();
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Elements of a view on the device, copied there if the caller has them on the host.
  fovea_status place(const View& view, bool is_output, Placed* result);
  // The first `rows` rows of a tensor.
  fovea_status place(const char* name, const fovea_tensor& tensor, int64_t rows, bool is_output,
                     Placed* result);
  // The entries for the slots of so many keys of each sequence, and what lies between them.
  template <typename KeysOf>
  fovea_status place_block_table(const KeysOf& keys_of, Placed* result);
  // Those parameters of the variant whose bits are set.
  fovea_status place_tables(const void* params, uint32_t which, Parameters* parameters);
  // Memory for so many bytes that nobody else sees: the caller's workspace, or with copies the
  // library's own.
  fovea_status place_workspace(size_t bytes, Placed* result);
  // With copies: back, and everything is waited for, also after a failure; its message stays.
  fovea_status finish(fovea_status status);

 private:
  fovea_status copy_outputs_();
  fovea_status place_entries_(int64_t low, int64_t high, Placed* result);

  // Tensors, a block table and two kinds of scales, extra outputs, tables, records.
  static constexpr int kMost = 7 + kExtraOutputCount + FOVEA_MAX_PARAMETERS + 1;
  const Problem& problem_;
  DeviceCall* call_;
  Placed placed_[kMost];
  int count_ = 0;
};

template <typename KeysOf>
fovea_status Tensors::place_block_table(const KeysOf& keys_of, Placed* result) {
  int64_t low = 0;
  int64_t high = 0;
  for (int64_t b = 0; problem_.has_pages() && b < problem_.batch; ++b) {
    const int64_t slots = used_slots(problem_.cache, keys_of(b));
    if (slots == 0) continue;
    const int64_t first = b * problem_.cache.block_table_stride;
    const int64_t end = first + ((slots - 1) >> problem_.page_shift) + 1;
    const bool is_first = low == high;
    low = is_first || first < low ? first : low;
    high = is_first || end > high ? end : high;
  }
  return place_entries_(low, high, result);
}

// Whether there is a queue for memory that only a queue says the context of.
fovea_status check_device_stream(const Problem& problem);
// Whether a device can step through a tensor, and through the pages of a cache.
fovea_status check_device_tensor(const Problem& problem, const char* name,
                                 const fovea_tensor& tensor);
fovea_status check_device_cache(const Problem& problem);

}  // namespace fovea::detail
#endif
