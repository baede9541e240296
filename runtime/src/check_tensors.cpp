// Checks of the tensors: type, shape, layout, memory.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "checks.h"
#include "fields.h"

namespace fovea::detail {
namespace {

constexpr int kBatch = 0;
constexpr int kHead = 1;
constexpr int kRow = 2;
constexpr int kFeature = 3;

fovea_status check_like(const char* name, fovea_dtype dtype, const char* other,
                        fovea_dtype expected) {
  if (dtype == expected) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: that of %s, %s", name,
              static_cast<int>(dtype), dtype_name(dtype), other, dtype_name(expected));
}

fovea_status check_types(const Problem& problem) {
  const fovea_call& call = problem.call;
  fovea_status status = check_float("q", call.q.dtype);
  if (status != FOVEA_OK) return status;
  if (problem.has_cache()) {
    status = check_cache_types(problem, "q");
  } else {
    status = check_like("k", call.k.dtype, "q", call.q.dtype);
    if (status == FOVEA_OK) status = check_like("v", call.v.dtype, "q", call.q.dtype);
  }
  if (status == FOVEA_OK) status = check_like("out", call.out.dtype, "q", call.q.dtype);
  if (status != FOVEA_OK) return status;
  for (const ExtraOutput& extra : kExtraOutputs) {
    const fovea_dtype dtype = (call.*extra.field).dtype;
    if (!is_wanted(call, extra) || dtype == FOVEA_F32) continue;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: f32", extra.name,
                static_cast<int>(dtype), dtype_name(dtype));
  }
  return FOVEA_OK;
}

fovea_status check_extra_shape(const Problem& problem, const ExtraOutput& extra) {
  const fovea_call& call = problem.call;
  const fovea_tensor* tensor = &(call.*extra.field);
  const EqualExtent rules[] = {
      {extra.name, tensor, kBatch, "q.extent[0] (batch)", call.q.extent[kBatch]},
      {extra.name, tensor, kHead, "q.extent[1] (query heads)", problem.q_heads},
      {extra.name, tensor, kRow, "q.extent[2] (query rows)", call.q.extent[kRow]},
  };
  for (const EqualExtent& rule : rules) {
    const fovea_status status = check_same(rule);
    if (status != FOVEA_OK) return status;
  }
  if (!extra.is_per_key) return check_same({extra.name, tensor, kFeature, "one number a row", 1});
  // One that follows from lengths may be smaller than what the caller made room for.
  const int64_t extent = tensor->extent[kFeature];
  const bool of_lengths = problem.has_ring() || problem.ragged.cu_k != nullptr;
  if (of_lengths ? extent >= problem.kv_rows : extent == problem.kv_rows) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.extent[3] = %" PRId64 ": allowed: %s%" PRId64 ", %s%s",
              extra.name, extent, of_lengths ? "at least " : "", problem.kv_rows,
              capacity_name(problem), of_lengths ? "" : " (keys)");
}

fovea_status check_shapes(const Problem& problem) {
  const fovea_call& call = problem.call;
  // Without pages a cache has a batch index for each sequence, however the rows lie.
  const char* batch =
      problem.is_ragged() && problem.has_cache() ? "ragged.batch" : "q.extent[0] (batch)";
  const int64_t key_batch = problem.has_cache() ? problem.batch : call.q.extent[kBatch];
  if (!problem.has_pages()) {
    const fovea_status status = check_same({"k", &call.k, kBatch, batch, key_batch});
    if (status != FOVEA_OK) return status;
  }
  const EqualExtent rules[] = {
      {"v", &call.v, kBatch, problem.has_pages() ? "k.extent[0] (pages)" : batch,
       problem.has_pages() ? call.k.extent[kBatch] : key_batch},
      {"out", &call.out, kBatch, "q.extent[0] (batch)", call.q.extent[kBatch]},
      {"v", &call.v, kHead, "k.extent[1] (KV heads)", problem.kv_heads},
      {"out", &call.out, kHead, "q.extent[1] (query heads)", problem.q_heads},
      {"v", &call.v, kRow, "k.extent[2] (keys)", call.k.extent[kRow]},
      {"out", &call.out, kRow, "q.extent[2] (query rows)", call.q.extent[kRow]},
      {"k", &call.k, kFeature, "q.extent[3] (features of q and k)", problem.d_qk},
      {"out", &call.out, kFeature, "v.extent[3] (features of v and out)", problem.d_v},
  };
  for (const EqualExtent& rule : rules) {
    const fovea_status status = check_same(rule);
    if (status != FOVEA_OK) return status;
  }
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (!is_wanted(call, extra)) continue;
    const fovea_status status = check_extra_shape(problem, extra);
    if (status != FOVEA_OK) return status;
  }
  if (problem.kv_heads == 0 ? problem.q_heads != 0 : problem.q_heads % problem.kv_heads != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "q.extent[1] = %" PRId64
                ": query heads must be a multiple of KV heads, k.extent[1] = %" PRId64,
                problem.q_heads, problem.kv_heads);
  }
  return FOVEA_OK;
}

// Objects of an OpenCL device begin with their tensors, so two tensors share memory exactly if they
// are one object.
fovea_status check_objects(const fovea_call& call, const fovea_cache& cache) {
  const struct {
    const char* name;
    const void* data;
  } inputs[] = {{"k.data", call.k.data},
                {"v.data", call.v.data},
                {"cache.k_scale.data", cache.k_scale.data},
                {"cache.v_scale.data", cache.v_scale.data},
                {"cache.block_table", cache.block_table}};
  for (const auto& input : inputs) {
    if (call.out.data == nullptr || call.out.data != input.data) continue;
    return fail(FOVEA_INVALID_ARGUMENT, "out.data = %p: is %s as well", call.out.data, input.name);
  }
  return FOVEA_OK;
}

// Whatever is wrong with them: check_lengths sees to that.
int64_t largest_kv_len(const Problem& problem) {
  int64_t largest = 0;
  if (problem.call.kv_len == nullptr) return 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (problem.call.kv_len[b] > largest) largest = problem.call.kv_len[b];
  }
  return largest;
}

}  // namespace

fovea_status check_float(const char* name, fovea_dtype dtype) {
  if (dtype == FOVEA_F32 || dtype == FOVEA_F16 || dtype == FOVEA_BF16) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: f32, f16, bf16", name,
              static_cast<int>(dtype), dtype_name(dtype));
}

fovea_status check_tensors(Problem* problem) {
  const fovea_call& call = problem->call;
  fovea_status status = check_types(*problem);
  if (status != FOVEA_OK) return status;
  bool wants_extra = false;
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (!is_wanted(call, extra)) continue;
    wants_extra = true;
    if ((problem->variant->outputs & extra.bit) != 0) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.data = %p: must be NULL, variant %s does not return it (declare it with "
                "v.returns(%s))",
                extra.name, (call.*extra.field).data, problem->variant->name, extra.name);
  }
  const bool pages = problem->has_pages();
  Fields fields;
  fields.add("q", call.q, {false, true, false});
  fields.add("k", call.k, {false, true, pages});
  fields.add("v", call.v, {false, true, pages});
  if (problem->cache.k_scale.data != nullptr)
    fields.add("cache.k_scale", problem->cache.k_scale, {false, true, pages});
  if (problem->cache.v_scale.data != nullptr)
    fields.add("cache.v_scale", problem->cache.v_scale, {false, true, pages});
  fields.add("out", call.out, {true, true, false});
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (is_wanted(call, extra)) fields.add(extra.name, call.*extra.field, {true, false, false});
  }
  for (Field& field : fields) {
    status = check_alone(field);
    if (status != FOVEA_OK) return status;
  }
  problem->batch = call.q.extent[kBatch];
  problem->q_heads = call.q.extent[kHead];
  problem->kv_heads = call.k.extent[kHead];
  problem->q_rows = call.q.extent[kRow];
  problem->kv_rows = call.k.extent[kRow];
  problem->d_qk = call.q.extent[kFeature];
  problem->d_v = call.v.extent[kFeature];
  if (call.ragged != nullptr) {
    status = check_sequences(problem);
    if (status != FOVEA_OK) return status;
  }
  if (problem->has_cache()) {
    status = check_cache(problem);
    if (status != FOVEA_OK) return status;
    if (problem->has_ring()) problem->kv_rows = largest_kv_len(*problem);
  }
  const bool no_rows = problem->batch == 0 || problem->q_heads == 0 || problem->q_rows == 0;
  problem->nothing_to_do = no_rows || (problem->d_v == 0 && !wants_extra);
  status = check_shapes(*problem);
  if (status != FOVEA_OK) return status;
  return problem->has_opencl_memory() ? check_objects(call, problem->cache)
                                      : check_overlaps(fields);
}

}  // namespace fovea::detail
