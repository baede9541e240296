// The arguments of a kernel in their order, and those that many kernels take alike.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_ARGUMENTS_H
#define FOVEA_ARGUMENTS_H

#include "buffers.h"

namespace fovea::detail {

// A cache as kernels take it, for one KV head of one sequence.
struct CacheArguments {
  Buffer<4> k, v;
  TableBuffer pages;
  int32_t page_shift;
  Ring ring;
  Buffer<4> k_scale, v_scale;
  int32_t k_group_shift, v_group_shift;
};

void fill_cache(const Problem& problem, int64_t b, int64_t kv_head, CacheArguments* arguments);

// feature d of a row is in group (d / 16) >> group_shift of its scales.
int32_t group_shift_of(int64_t features, int64_t groups);

// The extra outputs of a call as buffers.
using ExtraBuffers = RowBuffer[kExtraOutputCount];

class Arguments {
 public:
  // Kernels take every argument as void* and write to outputs only.
  template <typename... T>
  void add(T*... arguments) {
    ((list_[count_++] = arguments), ...);
  }
  void add_parameters(const Problem& problem, const Parameters& parameters) {
    for (int32_t i = 0; i < problem.variant->parameter_count; ++i) add(parameters.arguments[i]);
  }
  void add_append_parameters(const Problem& problem, const Parameters& parameters) {
    for (int32_t i = 0; i < problem.variant->parameter_count; ++i) {
      if (((problem.variant->append_parameters >> i) & 1) != 0) add(parameters.arguments[i]);
    }
  }
  void add_cache(const Problem& problem, CacheArguments* cache);
  // For `rows` rows of sequence b; `keys` of them in the outputs that have a number for each key,
  // -1: the kernel has no such outputs.
  void add_extra_outputs(const Problem& problem, int64_t b, int64_t head, int64_t first_row,
                         int32_t rows, int32_t keys, UnwantedRows unwanted, ExtraBuffers& buffers);

  void** list() { return list_; }

 private:
  // A decode part with a cache has the most fixed ones, 14 and 10.
  void* list_[24 + FOVEA_MAX_PARAMETERS + 1 + kExtraOutputCount];
  int count_ = 0;
};

}  // namespace fovea::detail
#endif
