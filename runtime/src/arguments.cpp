// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace fovea::detail {
namespace {

// The scale of 8-bit floats without scales: 1 in f16.
constexpr uint16_t kOne = 0x3c00;
constexpr int32_t kZero = 0;

constexpr int32_t kOneGroup = 26;  // no feature is in any group but the first

uint8_t* constant(const void* data) { return static_cast<uint8_t*>(const_cast<void*>(data)); }

void fill_pages(const Problem& problem, int64_t b, CacheArguments* arguments) {
  const fovea_cache& cache = problem.cache;
  const void* first = &kZero;
  int64_t count = 1;
  if (problem.has_pages()) {
    const int64_t used = used_slots(cache, keys_of(problem, b));
    if (used > 0) {
      first = cache.block_table + b * cache.block_table_stride;
      count = ((used - 1) >> problem.page_shift) + 1;
    }
  }
  TableBuffer& pages = arguments->pages;
  pages.dimensions[0] = {0, static_cast<int32_t>(count), 1, 0};
  pages.buffer = {0, nullptr,          constant(first), 0, halide_type(FOVEA_I32),
                  1, pages.dimensions, nullptr};
}

void fill_scales(const Problem& problem, const fovea_tensor& scales, const fovea_tensor& rows,
                 int64_t b, int64_t kv_head, Buffer<4>* buffer, int32_t* group_shift) {
  if (scales.data != nullptr) {
    fill_slots(buffer, scales, problem.has_pages(), b, kv_head);
    *group_shift = group_shift_of(rows.extent[3], scales.extent[3]);
    return;
  }
  fill_slots(buffer, rows, problem.has_pages(), b, kv_head);
  buffer->dimensions[0].extent = 1;
  buffer->dimensions[2].stride = buffer->dimensions[3].stride = 0;
  buffer->buffer.type = halide_type(FOVEA_F16);
  buffer->buffer.host = constant(&kOne);
  *group_shift = kOneGroup;
}

}  // namespace

int32_t group_shift_of(int64_t features, int64_t groups) {
  return groups > 1 ? page_shift_of(features / groups / 16) : kOneGroup;
}

void fill_cache(const Problem& problem, int64_t b, int64_t kv_head, CacheArguments* arguments) {
  const fovea_call& call = problem.call;
  fill_slots(&arguments->k, call.k, problem.has_pages(), b, kv_head);
  fill_slots(&arguments->v, call.v, problem.has_pages(), b, kv_head);
  fill_pages(problem, b, arguments);
  arguments->page_shift = problem.page_shift;
  arguments->ring = ring_of(problem.cache, keys_of(problem, b));
  if (!is_quantised(problem.request.cache)) return;
  fill_scales(problem, problem.cache.k_scale, call.k, b, kv_head, &arguments->k_scale,
              &arguments->k_group_shift);
  fill_scales(problem, problem.cache.v_scale, call.v, b, kv_head, &arguments->v_scale,
              &arguments->v_group_shift);
}

void Arguments::add_cache(const Problem& problem, CacheArguments* cache) {
  Ring& ring = cache->ring;
  add(&cache->pages.buffer, &cache->page_shift, &ring.sinks, &ring.begin, &ring.slot, &ring.end);
  if (!is_quantised(problem.request.cache)) return;
  add(&cache->k_scale.buffer, &cache->v_scale.buffer, &cache->k_group_shift, &cache->v_group_shift);
}

void Arguments::add_extra_outputs(const Problem& problem, int64_t b, int64_t head,
                                  int64_t first_row, int32_t rows, int32_t keys,
                                  UnwantedRows unwanted, ExtraBuffers& buffers) {
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& output = kExtraOutputs[i];
    if ((problem.variant->outputs & output.bit) == 0) continue;
    const fovea_tensor& tensor = problem.call.*output.field;
    const Place place = place_of_rows(problem, b);
    if (output.is_per_key) {
      if (keys < 0) continue;
      fill_key_output(&buffers[i], tensor, place, head, first_row, rows, keys);
    } else {
      fill_row_output(&buffers[i], tensor, unwanted.memory, place, head, first_row, rows);
      if (tensor.data == nullptr) unwanted.memory += unwanted.step;
    }
    add(&buffers[i].buffer);
  }
}

}  // namespace fovea::detail
