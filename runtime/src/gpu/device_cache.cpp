// A cache as the launches of a call are told of it. SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include <initializer_list>

#include "../arguments.h"
#include "device_work.h"

namespace fovea::detail {
namespace {

// Of a cache without scales all of them are one number.
void fill_scales(const DeviceWork& work, const fovea_tensor& scales, const fovea_tensor& rows,
                 const Placed& placed, Buffer<5>* b, int32_t* group_shift, int64_t* start) {
  if (scales.data != nullptr) {
    fill_slots(b, scales, placed);
    *group_shift = group_shift_of(rows.extent[3], scales.extent[3]);
    *start = placed.start;
    return;
  }
  fill_slots(b, rows, {work.call->page, 0, nullptr, 0, false});
  b->dimensions[0].extent = 1;
  for (int i = 2; i < 5; ++i) b->dimensions[i].stride = 0;
  b->buffer.type = device_type(FOVEA_F16);
  *group_shift = group_shift_of(rows.extent[3], 1);
  *start = kOneStart / static_cast<int64_t>(sizeof(uint16_t));
}

}  // namespace

void fill_slots(Buffer<5>* b, const fovea_tensor& tensor, const Placed& placed) {
  const int shift = features_shift(tensor);
  const auto extent = [&](int axis) { return static_cast<int32_t>(tensor.extent[axis]); };
  b->dimensions[0] = {0, extent(3) >> shift, 1, 0};
  // Kernels put offsets of their own here.
  b->dimensions[1] = {0, INT32_MAX, 1, 0};
  b->dimensions[2] = {0, extent(2), stride_of(tensor, 2) >> shift, 0};
  b->dimensions[3] = {0, extent(0), stride_of(tensor, 0) >> shift, 0};
  b->dimensions[4] = {0, extent(1), stride_of(tensor, 1) >> shift, 0};
  describe_buffer(b, placed, device_type(tensor.dtype));
}

RunCache::RunCache(const DeviceWork& work, int32_t kv_len) {
  const Problem& problem = *work.problem;
  if (problem.request.cache == FOVEA_CACHE_NONE) return;
  const fovea_cache& cache = problem.cache;
  const fovea_call& call = problem.call;
  const bool has_pages = problem.has_pages();
  page_shift = problem.page_shift;
  pool_pages = has_pages ? static_cast<int32_t>(call.k.extent[0]) : 0;
  ring = ring_of(cache, kv_len);
  // Without pages a single zero.
  const int64_t columns = has_pages ? cache.block_table_columns : 1;
  const int64_t stride = has_pages && problem.batch > 1 ? cache.block_table_stride : 0;
  pages.dimensions[0] = {0, static_cast<int32_t>(columns), has_pages ? 1 : 0, 0};
  pages.dimensions[1] = {0, static_cast<int32_t>(problem.batch), static_cast<int32_t>(stride), 0};
  describe_buffer(&pages, work.pages, device_type(FOVEA_I32));
  pages_start = work.pages.start;
  if (!is_quantised(problem.request.cache) || problem.request.pass == FOVEA_APPEND) return;
  fill_scales(work, cache.k_scale, call.k, work.k_scale, &k_scale, &k_group_shift, &k_scale_start);
  fill_scales(work, cache.v_scale, call.v, work.v_scale, &v_scale, &v_group_shift, &v_scale_start);
}

int RunCache::add_places(void** list, int count) {
  for (void* argument : {static_cast<void*>(&pages.buffer), static_cast<void*>(&page_shift),
                         static_cast<void*>(&ring.sinks), static_cast<void*>(&ring.begin),
                         static_cast<void*>(&ring.slot), static_cast<void*>(&ring.end),
                         static_cast<void*>(&pool_pages), static_cast<void*>(&pages_start)})
    list[count++] = argument;
  return count;
}

int RunCache::add(const Problem& problem, void** list, int count) {
  if (!problem.has_cache()) return count;
  count = add_places(list, count);
  if (!is_quantised(problem.request.cache)) return count;
  for (void* argument : {static_cast<void*>(&k_scale.buffer), static_cast<void*>(&v_scale.buffer),
                         static_cast<void*>(&k_group_shift), static_cast<void*>(&v_group_shift),
                         static_cast<void*>(&k_scale_start), static_cast<void*>(&v_scale_start)})
    list[count++] = argument;
  return count;
}

}  // namespace fovea::detail
