// Checks of a KV cache: types, pages, ring, scales.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>

#include "sequences.h"
#include "views.h"

namespace fovea::detail {
namespace {

constexpr int kRow = 2;
constexpr int kFeature = 3;

// Two features share a byte, the two that are 16 apart.
fovea_status check_packing(const char* name, const fovea_tensor& tensor) {
  if (tensor.extent[kFeature] % 32 != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.extent[3] = %" PRId64 ": allowed in i4: multiples of 32", name,
                tensor.extent[kFeature]);
  }
  for (int axis = 0; axis < kFeature; ++axis) {
    if (tensor.extent[axis] <= 1 || tensor.stride[axis] % 2 == 0) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.stride[%d] = %" PRId64
                ": allowed in i4: even numbers, strides count features "
                "and a byte holds two",
                name, axis, tensor.stride[axis]);
  }
  return FOVEA_OK;
}

fovea_status check_pages(Problem* problem) {
  const fovea_cache& cache = problem->cache;
  const int64_t page_size = problem->call.k.extent[kRow];
  if (!problem->has_pages()) {
    problem->page_shift = kWithoutPages;
    problem->kv_rows = page_size;
    return FOVEA_OK;
  }
  if (page_size < 1 || (page_size & (page_size - 1)) != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "k.extent[2] = %" PRId64
                ": allowed with a block table: a page size that is a power of two",
                page_size);
  }
  if (cache.block_table_columns < 0 || cache.block_table_columns > INT32_MAX) {
    return fail(FOVEA_INVALID_ARGUMENT, "cache.block_table_columns = %" PRId64 ": allowed: 0 to %d",
                cache.block_table_columns, INT32_MAX);
  }
  const int64_t stride = cache.block_table_stride;
  if (problem->batch > 1 && (stride > INT32_MAX || stride < INT32_MIN)) {
    return fail(FOVEA_UNSUPPORTED, "cache.block_table_stride = %" PRId64 ": supported: %d to %d",
                stride, INT32_MIN, INT32_MAX);
  }
  problem->page_shift = page_shift_of(page_size);
  problem->kv_rows = cache.block_table_columns << problem->page_shift;
  return FOVEA_OK;
}

fovea_status check_ring(const Problem& problem) {
  const fovea_cache& cache = problem.cache;
  if (cache.ring_window < 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "cache.ring_window = %" PRId32 ": allowed: 0 (no ring) or more", cache.ring_window);
  }
  if (cache.ring_sinks < 0) {
    return fail(FOVEA_INVALID_ARGUMENT, "cache.ring_sinks = %" PRId32 ": allowed: 0 or more",
                cache.ring_sinks);
  }
  if (!problem.has_ring()) {
    if (cache.ring_sinks == 0) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT,
                "cache.ring_sinks = %" PRId32
                ": must be 0, cache.ring_window is 0 and without a ring every key stays",
                cache.ring_sinks);
  }
  if (cache.ring_sinks >= problem.kv_rows) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "cache.ring_sinks = %" PRId32
                ": allowed: fewer than the slots of a sequence, %" PRId64
                ", of which the window "
                "needs one",
                cache.ring_sinks, problem.kv_rows);
  }
  const int64_t slots = int64_t{cache.ring_sinks} + cache.ring_window;
  if (slots > problem.kv_rows || slots > kLargestPosition) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "cache.ring_window = %" PRId32 ": allowed: with %" PRId32 " sinks up to %" PRId64
                ", a sequence has %" PRId64 " slots",
                cache.ring_window, cache.ring_sinks, problem.kv_rows - cache.ring_sinks,
                problem.kv_rows);
  }
  return FOVEA_OK;
}

// `rows`: what the scales are of.
fovea_status check_scale_shape(const char* name, const fovea_tensor& scale, const char* rows_name,
                               const fovea_tensor& rows) {
  if (scale.data == nullptr) return FOVEA_OK;
  for (int axis = 0; axis < kFeature; ++axis) {
    if (scale.extent[axis] == rows.extent[axis]) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.extent[%d] = %" PRId64 ": allowed: %" PRId64 ", that of %s", name, axis,
                scale.extent[axis], rows.extent[axis], rows_name);
  }
  const int64_t features = rows.extent[kFeature];
  const int64_t groups = scale.extent[kFeature];
  if (groups == 1) return FOVEA_OK;
  const int64_t size = groups > 0 && features % groups == 0 ? features / groups : 0;
  if (size >= 16 && (size & (size - 1)) == 0) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "%s.extent[3] = %" PRId64 ": allowed: 1, or %" PRId64
              " / n for groups of n features, a power of two from 16 on that divides %s.extent[3]",
              name, groups, features, rows_name);
}

struct Scales {
  const char* name;
  const fovea_tensor* scale;
  const char* rows_name;
  const fovea_tensor* rows;
};

// Which there are, and their type.
fovea_status check_scale_types(const Problem& problem, const Scales& one, const Scales& other) {
  const fovea_cache_kind kind = problem.request.cache;
  const fovea_tensor& scale = *one.scale;
  if (!is_quantised(kind)) {
    if (scale.data == nullptr) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.data = %p: must be NULL, %s.dtype = %s has no scales",
                one.name, scale.data, one.rows_name, dtype_name(one.rows->dtype));
  }
  if (scale.data == nullptr) {
    const bool needed = kind == FOVEA_CACHE_I8 || kind == FOVEA_CACHE_I4;
    if (!needed && other.scale->data == nullptr) return FOVEA_OK;
    if (!has_elements(tensor_view(one.rows_name, *one.rows))) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.data is NULL: %s", one.name,
                needed ? "caches of i8 and i4 have scales"
                       : "allowed only if k_scale and v_scale both are, all scales are 1 then");
  }
  if (scale.dtype == FOVEA_F16) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: f16", one.name,
              static_cast<int>(scale.dtype), dtype_name(scale.dtype));
}

}  // namespace

fovea_cache_kind cache_kind_of(fovea_dtype keys, fovea_dtype queries) {
  if (keys == queries) return FOVEA_CACHE_SAME;
  switch (keys) {
    case FOVEA_I8:
      return FOVEA_CACHE_I8;
    case FOVEA_I4:
      return FOVEA_CACHE_I4;
    case FOVEA_E4M3:
      return FOVEA_CACHE_E4M3;
    case FOVEA_E5M2:
      return FOVEA_CACHE_E5M2;
    default:
      return FOVEA_CACHE_SAME;  // check_types refuses it
  }
}

fovea_status check_cache_types(const Problem& problem, const char* name) {
  const fovea_tensor& k = problem.call.k;
  const fovea_tensor& v = problem.call.v;
  const fovea_dtype computed = problem.request.dtype;
  if (k.dtype != computed && !is_quantised(problem.request.cache)) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "k.dtype = %d (%s): allowed: that of %s, %s, or i8, i4, e4m3, e5m2",
                static_cast<int>(k.dtype), dtype_name(k.dtype), name, dtype_name(computed));
  }
  if (v.dtype != k.dtype) {
    return fail(FOVEA_INVALID_ARGUMENT, "v.dtype = %d (%s): allowed: that of k, %s",
                static_cast<int>(v.dtype), dtype_name(v.dtype), dtype_name(k.dtype));
  }
  fovea_status status = FOVEA_OK;
  if (problem.request.cache == FOVEA_CACHE_I4) {
    status = check_packing("k", k);
    if (status == FOVEA_OK) status = check_packing("v", v);
  }
  const Scales k_scale = {"cache.k_scale", &problem.cache.k_scale, "k", &k};
  const Scales v_scale = {"cache.v_scale", &problem.cache.v_scale, "v", &v};
  if (status == FOVEA_OK) status = check_scale_types(problem, k_scale, v_scale);
  if (status == FOVEA_OK) status = check_scale_types(problem, v_scale, k_scale);
  return status;
}

fovea_status check_cache(Problem* problem) {
  fovea_status status = check_pages(problem);
  if (status == FOVEA_OK) status = check_ring(*problem);
  const fovea_cache& cache = problem->cache;
  if (status == FOVEA_OK)
    status = check_scale_shape("cache.k_scale", cache.k_scale, "k", problem->call.k);
  if (status == FOVEA_OK)
    status = check_scale_shape("cache.v_scale", cache.v_scale, "v", problem->call.v);
  return status;
}

fovea_status check_block_table(const Problem& problem, int64_t b, int64_t first_slot,
                               int64_t end_slot) {
  if (first_slot >= end_slot) return FOVEA_OK;
  const int64_t pages = problem.call.k.extent[0];
  if (problem.has_device_memory()) {
    if (pages > 0) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT,
                "k.extent[0] = 0 pages: allowed: 1 or more, sequence %" PRId64 " uses %" PRId64
                " slots",
                b, end_slot - first_slot);
  }
  const int32_t* row = problem.cache.block_table + b * problem.cache.block_table_stride;
  for (int64_t j = first_slot >> problem.page_shift; j << problem.page_shift < end_slot; ++j) {
    if (row[j] >= 0 && row[j] < pages) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "cache.block_table[%" PRId64 "][%" PRId64 "] = %" PRId32 ": allowed: 0 to %" PRId64
                ", k.extent[0] = %" PRId64 " pages",
                b, j, row[j], pages - 1, pages);
  }
  return FOVEA_OK;
}

fovea_status check_block_table(const Problem& problem) {
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int64_t used = used_slots(problem.cache, keys_of(problem, b));
    const fovea_status status = check_block_table(problem, b, 0, used);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
