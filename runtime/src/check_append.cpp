// Checks of an append: settings, types, shapes, memory, lengths, the slots that it writes.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "append.h"
#include "fields.h"

namespace fovea::detail {
namespace {

constexpr int kBatch = 0;
constexpr int kHead = 1;
constexpr int kRow = 2;
constexpr int kFeature = 3;

fovea_status check_types(const Append& append) {
  const fovea_append& call = append.call;
  const fovea_status status = check_float("k_new", call.k_new.dtype);
  if (status != FOVEA_OK) return status;
  if (call.v_new.dtype != call.k_new.dtype) {
    return fail(FOVEA_INVALID_ARGUMENT, "v_new.dtype = %d (%s): allowed: that of k_new, %s",
                static_cast<int>(call.v_new.dtype), dtype_name(call.v_new.dtype),
                dtype_name(call.k_new.dtype));
  }
  return check_cache_types(append.problem, "k_new");
}

fovea_status check_shapes(const Append& append) {
  const Problem& problem = append.problem;
  const fovea_append& call = append.call;
  const bool is_ragged = problem.is_ragged();
  const int64_t tensor_batch = is_ragged ? 1 : problem.batch;
  const char* rows_batch =
      is_ragged ? "the rows of all sequences are in axis 2" : "k_new.extent[0] (batch)";
  const char* slots_batch = problem.has_pages() ? "k.extent[0] (pages)"
                            : is_ragged         ? "ragged.batch"
                                                : "k_new.extent[0] (batch)";
  const int64_t slots = problem.has_pages() ? call.k.extent[kBatch] : problem.batch;
  const EqualExtent rules[] = {
      {"k_new", &call.k_new, kBatch, rows_batch, tensor_batch},
      {"v_new", &call.v_new, kBatch, rows_batch, tensor_batch},
      {"k", &call.k, kBatch, slots_batch, slots},
      {"v", &call.v, kBatch, slots_batch, slots},
      {"v_new", &call.v_new, kHead, "k_new.extent[1] (KV heads)", problem.kv_heads},
      {"k", &call.k, kHead, "k_new.extent[1] (KV heads)", problem.kv_heads},
      {"v", &call.v, kHead, "k_new.extent[1] (KV heads)", problem.kv_heads},
      {"v_new", &call.v_new, kRow, "k_new.extent[2] (tokens)", call.k_new.extent[kRow]},
      {"v", &call.v, kRow, "k.extent[2] (slots)", call.k.extent[kRow]},
      {"k", &call.k, kFeature, "k_new.extent[3] (features of k)", problem.d_qk},
      {"v", &call.v, kFeature, "v_new.extent[3] (features of v)", problem.d_v},
  };
  for (const EqualExtent& rule : rules) {
    const fovea_status status = check_same(rule);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

fovea_status check_new_len(const Append& append) {
  const int32_t* new_len = append.call.new_len;
  const int64_t rows = append.call.k_new.extent[kRow];
  if (append.problem.is_ragged()) {
    if (new_len == nullptr) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT,
                "new_len = %p: must be NULL, ragged.cu_q says how many tokens each sequence has",
                static_cast<const void*>(new_len));
  }
  for (int64_t b = 0; new_len != nullptr && b < append.problem.batch; ++b) {
    if (new_len[b] >= 0 && new_len[b] <= rows) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "new_len[%" PRId64 "] = %" PRId32 ": allowed: 0 to k_new.extent[2] = %" PRId64, b,
                new_len[b], rows);
  }
  return FOVEA_OK;
}

// kv_rows comes in as the slots of a sequence and becomes the most keys that one has afterwards.
fovea_status check_lengths(Append* append) {
  Problem& problem = append->problem;
  const fovea_status status = check_new_len(*append);
  if (status != FOVEA_OK) return status;
  const int64_t slots = problem.kv_rows;
  if (!problem.has_ring() && slots > kLargestPosition) {
    return fail(FOVEA_UNSUPPORTED,
                "slots of a sequence = %" PRId64 ": supported: 0 to %" PRId64
                ", positions are 32-bit",
                slots, kLargestPosition);
  }
  const int64_t most = problem.has_ring() ? kLargestPosition : slots;
  problem.kv_rows = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int64_t rows = rows_of(problem, b);
    const int64_t held = append->call.kv_len != nullptr ? append->call.kv_len[b] : 0;
    if (held < 0 || held + rows > most) {
      return fail(FOVEA_INVALID_ARGUMENT,
                  "kv_len[%" PRId64 "] = %" PRId64 ": allowed: 0 to %s = %" PRId64
                  " less the %" PRId64 " new tokens",
                  b, held, problem.has_ring() ? "the largest position" : "the slots of a sequence",
                  most, rows);
    }
    if (held + rows > problem.kv_rows) problem.kv_rows = held + rows;
  }
  return FOVEA_OK;
}

// Entries of the slots that are written: the first key of each part of them is the start of a run.
fovea_status check_slots(const Append& append) {
  const Problem& problem = append.problem;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const NewKeys keys = new_keys_of(append, b);
    const Ring ring = ring_of(problem.cache, keys.end);
    const auto check = [&](int64_t first, int64_t end) {
      return check_block_table(problem, b, first, end);
    };
    // Below the gap every key has the slot of its number.
    fovea_status status = check(keys.begin, keys.gap_begin);
    if (status == FOVEA_OK && keys.gap_end < keys.end) {
      int64_t slot = ring.slot + int64_t{keys.gap_end} - ring.begin;
      if (slot >= ring.end) slot -= ring.end - ring.sinks;
      const int64_t end = slot + keys.end - keys.gap_end;
      status = check(slot, end < ring.end ? end : ring.end);
      if (status == FOVEA_OK && end > ring.end)
        status = check(ring.sinks, ring.sinks + end - ring.end);
    }
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

// Objects of an OpenCL device begin with their tensors, so two tensors share memory exactly if they
// are one object.
fovea_status check_objects(Fields& fields) {
  for (const Field& output : fields) {
    for (const Field& other : fields) {
      if (!output.rules.is_output || &output == &other) continue;
      if (output.tensor->data == nullptr || output.tensor->data != other.tensor->data) continue;
      return fail(FOVEA_INVALID_ARGUMENT, "%s.data = %p: is %s.data as well", output.name,
                  output.tensor->data, other.name);
    }
  }
  return FOVEA_OK;
}

fovea_status check_memory(Append* append) {
  const fovea_append& call = append->call;
  const fovea_cache& cache = append->problem.cache;
  const bool pages = append->problem.has_pages();
  Fields fields;
  fields.add("k_new", call.k_new, {false, true, false});
  fields.add("v_new", call.v_new, {false, true, false});
  fields.add("k", call.k, {true, true, pages});
  fields.add("v", call.v, {true, true, pages});
  if (cache.k_scale.data != nullptr)
    fields.add("cache.k_scale", cache.k_scale, {true, true, pages});
  if (cache.v_scale.data != nullptr)
    fields.add("cache.v_scale", cache.v_scale, {true, true, pages});
  for (Field& field : fields) {
    const fovea_status status = check_alone(field);
    if (status != FOVEA_OK) return status;
  }
  return append->problem.has_opencl_memory() ? check_objects(fields) : check_overlaps(fields);
}

}  // namespace

fovea_status check_append(const fovea_library_info& library, int32_t variant,
                          const fovea_append* given, Capabilities* capabilities, Append* append) {
  if (given == nullptr) return fail(FOVEA_INVALID_ARGUMENT, "append is NULL");
  fovea_append& call = append->call;
  Problem& problem = append->problem;
  fovea_status status = complete("append", given, kFirstAppendSize, sizeof(fovea_append), &call);
  if (status == FOVEA_OK) status = check_exec(library, call.exec, capabilities, &problem.exec);
  if (status == FOVEA_OK)
    status = check_device(library, problem.exec, call.k_new.data, capabilities, &problem.request);
  if (status == FOVEA_OK && call.cache != nullptr) {
    status = complete("cache", call.cache, kFirstCacheSize, sizeof(fovea_cache), &problem.cache);
  }
  if (status == FOVEA_OK && call.ragged != nullptr)
    status = check_ragged(call.ragged, &problem.ragged);
  if (status != FOVEA_OK) return status;
  problem.variant = &library.variants[variant];
  problem.request = {variant,
                     FOVEA_APPEND,
                     call.k_new.dtype,
                     cache_kind_of(call.k.dtype, call.k_new.dtype),
                     call.k_new.extent[kFeature],
                     call.v_new.extent[kFeature],
                     problem.request.device};
  problem.call.k = call.k;
  problem.call.v = call.v;
  problem.call.q_len = call.new_len;
  status = check_types(*append);
  if (status == FOVEA_OK) status = check_memory(append);
  if (status != FOVEA_OK) return status;
  problem.batch = call.ragged != nullptr ? problem.ragged.batch : call.k_new.extent[kBatch];
  problem.kv_heads = call.k_new.extent[kHead];
  problem.q_rows = call.k_new.extent[kRow];
  problem.d_qk = call.k_new.extent[kFeature];
  problem.d_v = call.v_new.extent[kFeature];
  if (call.ragged != nullptr) {
    if (problem.ragged.cu_k != nullptr) {
      return fail(FOVEA_INVALID_ARGUMENT, "ragged.cu_k = %p: must be NULL, k and v are a cache",
                  static_cast<const void*>(problem.ragged.cu_k));
    }
    status = check_offsets("ragged.cu_q", problem.ragged.cu_q, problem.batch,
                           call.k_new.extent[kRow], "k_new.extent[2]", &problem.q_rows);
  }
  problem.nothing_to_do = problem.batch == 0 || problem.kv_heads == 0 || problem.q_rows == 0;
  if (status == FOVEA_OK) status = check_shapes(*append);
  if (status == FOVEA_OK) status = check_cache(&problem);
  if (status == FOVEA_OK) status = check_lengths(append);
  return status != FOVEA_OK || !problem.has_pages() ? status : check_slots(*append);
}

}  // namespace fovea::detail
