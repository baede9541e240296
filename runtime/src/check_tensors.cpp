// Checks of the tensors: type, shape, layout, memory.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <initializer_list>

#include "checks.h"
#include "layout.h"

namespace fovea::detail {
namespace {

constexpr int kBatch = 0;
constexpr int kHead = 1;
constexpr int kRow = 2;
constexpr int kFeature = 3;

struct Field {
  const char* name;
  const fovea_tensor* tensor;
  bool is_output, has_features;  // the last axis is that of features
  Layout layout;                 // known once it has been checked
};

// q, k, v, out and the extra outputs that the call wants.
struct Fields {
  Field field[4 + kExtraOutputCount];
  int count = 0;

  void add(const char* name, const fovea_tensor& tensor, bool is_output, bool has_features) {
    Field& added = field[count++];
    added.name = name;
    added.tensor = &tensor;
    added.is_output = is_output;
    added.has_features = has_features;
  }
  Field* begin() { return field; }
  Field* end() { return field + count; }
};

fovea_status check_types(const Problem& problem) {
  const fovea_call& call = problem.call;
  if (call.q.dtype != FOVEA_F32 && call.q.dtype != FOVEA_F16 && call.q.dtype != FOVEA_BF16) {
    return fail(FOVEA_INVALID_ARGUMENT, "q.dtype = %d (%s): allowed: f32, f16, bf16",
                static_cast<int>(call.q.dtype), dtype_name(call.q.dtype));
  }
  struct Same {
    const char* name;
    fovea_dtype dtype;
  };
  for (const Same& tensor :
       {Same{"k", call.k.dtype}, Same{"v", call.v.dtype}, Same{"out", call.out.dtype}}) {
    if (tensor.dtype == call.q.dtype) continue;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: that of q, %s", tensor.name,
                static_cast<int>(tensor.dtype), dtype_name(tensor.dtype), dtype_name(call.q.dtype));
  }
  for (const ExtraOutput& extra : kExtraOutputs) {
    const fovea_dtype dtype = (call.*extra.field).dtype;
    if (!is_wanted(call, extra) || dtype == FOVEA_F32) continue;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: f32", extra.name,
                static_cast<int>(dtype), dtype_name(dtype));
  }
  return FOVEA_OK;
}

// What can be said of one tensor alone.
fovea_status check_alone(Field& field) {
  const fovea_tensor& tensor = *field.tensor;
  const fovea_status status = check_layout(field.name, tensor, field.has_features, &field.layout);
  if (status != FOVEA_OK || !has_elements(field.layout.view)) return status;
  for (const int axis : {kRow, kFeature}) {
    const int64_t stride = tensor.stride[axis];
    if (tensor.extent[axis] <= 1 || (stride >= INT32_MIN && stride <= INT32_MAX)) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s.stride[%d] = %" PRId64 ": supported: %s strides of %d to %d elements",
                field.name, axis, stride, axis == kRow ? "row" : "key", INT32_MIN, INT32_MAX);
  }
  return field.is_output ? check_distinct(field.name, tensor, field.layout) : FOVEA_OK;
}

fovea_status check_same(const char* name, const fovea_tensor& tensor, int axis, const char* other,
                        int64_t expected) {
  if (tensor.extent[axis] == expected) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.extent[%d] = %" PRId64 ": allowed: %" PRId64 ", %s", name,
              axis, tensor.extent[axis], expected, other);
}

fovea_status check_shapes(const Problem& problem) {
  const fovea_call& call = problem.call;
  struct Equal {
    const char* name;
    const fovea_tensor* tensor;
    int axis;
    const char* other;
    int64_t expected;
  };
  const Equal rules[] = {
      {"k", &call.k, kBatch, "q.extent[0] (batch)", problem.batch},
      {"v", &call.v, kBatch, "q.extent[0] (batch)", problem.batch},
      {"out", &call.out, kBatch, "q.extent[0] (batch)", problem.batch},
      {"v", &call.v, kHead, "k.extent[1] (KV heads)", problem.kv_heads},
      {"out", &call.out, kHead, "q.extent[1] (query heads)", problem.q_heads},
      {"v", &call.v, kRow, "k.extent[2] (keys)", problem.kv_rows},
      {"out", &call.out, kRow, "q.extent[2] (query rows)", problem.q_rows},
      {"k", &call.k, kFeature, "q.extent[3] (features of q and k)", problem.d_qk},
      {"out", &call.out, kFeature, "v.extent[3] (features of v and out)", problem.d_v},
  };
  for (const Equal& rule : rules) {
    const fovea_status status =
        check_same(rule.name, *rule.tensor, rule.axis, rule.other, rule.expected);
    if (status != FOVEA_OK) return status;
  }
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (!is_wanted(call, extra)) continue;
    const fovea_tensor* tensor = &(call.*extra.field);
    const Equal extra_rules[] = {
        {extra.name, tensor, kBatch, "q.extent[0] (batch)", problem.batch},
        {extra.name, tensor, kHead, "q.extent[1] (query heads)", problem.q_heads},
        {extra.name, tensor, kRow, "q.extent[2] (query rows)", problem.q_rows},
        {extra.name, tensor, kFeature, extra.is_per_key ? "k.extent[2] (keys)" : "one number a row",
         extra.is_per_key ? problem.kv_rows : 1},
    };
    for (const Equal& rule : extra_rules) {
      const fovea_status status =
          check_same(rule.name, *rule.tensor, rule.axis, rule.other, rule.expected);
      if (status != FOVEA_OK) return status;
    }
  }
  if (problem.kv_heads == 0 ? problem.q_heads != 0 : problem.q_heads % problem.kv_heads != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "q.extent[1] = %" PRId64
                ": query heads must be a multiple of KV heads, k.extent[1] = %" PRId64,
                problem.q_heads, problem.kv_heads);
  }
  return FOVEA_OK;
}

fovea_status check_overlap(const Field& output, const Field& other) {
  if (!share_memory(output.layout, other.layout)) return FOVEA_OK;
  const bool out_over_q = strcmp(output.name, "out") == 0 && strcmp(other.name, "q") == 0;
  if (out_over_q && are_identical(output.layout.view, other.layout.view)) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.data = %p: overlaps %s (%p)%s", output.name,
              output.layout.view.data, other.name, other.layout.view.data,
              out_over_q ? "; allowed: no overlap, or exactly q with the same extents and strides"
                         : "; allowed: no overlap");
}

// Inputs come first among the fields, then the outputs, each of which shares no memory with any
// before it.
fovea_status check_overlaps(const Fields& fields) {
  for (int i = 0; i < fields.count; ++i) {
    if (!fields.field[i].is_output) continue;
    for (int j = 0; j < i; ++j) {
      const fovea_status status = check_overlap(fields.field[i], fields.field[j]);
      if (status != FOVEA_OK) return status;
    }
  }
  return FOVEA_OK;
}

}  // namespace

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
  Fields fields;
  fields.add("q", call.q, false, true);
  fields.add("k", call.k, false, true);
  fields.add("v", call.v, false, true);
  fields.add("out", call.out, true, true);
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (is_wanted(call, extra)) fields.add(extra.name, call.*extra.field, true, false);
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
  const bool no_rows = problem->batch == 0 || problem->q_heads == 0 || problem->q_rows == 0;
  problem->nothing_to_do = no_rows || (problem->d_v == 0 && !wants_extra);
  status = check_shapes(*problem);
  return status != FOVEA_OK ? status : check_overlaps(fields);
}

}  // namespace fovea::detail
