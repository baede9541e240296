// Checks of a variant's run-time parameters.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "sequences.h"
#include "views.h"

namespace fovea::detail {
namespace {

fovea_status check_scalar(const fovea_parameter_info& info, const void* field) {
  double value = 0;
  if (info.dtype == FOVEA_I32) {
    int32_t integer = 0;
    memcpy(&integer, field, sizeof(integer));
    value = integer;
  } else {
    float number = 0;
    memcpy(&number, field, sizeof(number));
    value = static_cast<double>(number);
  }
  // An open end stands for "any number": infinities are none, formulas would turn them into NaN.
  const bool high_enough =
      info.exclusive_minimum != 0 ? value > info.minimum : value >= info.minimum;
  if (isfinite(value) && high_enough && value <= info.maximum) return FOVEA_OK;
  // Enough digits to tell any two values of the type apart.
  const int digits = info.dtype == FOVEA_I32 ? 10 : 9;
  Text text = message_text();
  text.append("params.%s = %.*g: allowed: ", info.name, digits, value);
  if (isinf(info.minimum) && isinf(info.maximum)) {
    text.append("any finite number");
  } else if (isinf(info.maximum)) {
    text.append("finite and %s %.*g", info.exclusive_minimum != 0 ? "above" : "at least", digits,
                info.minimum);
  } else if (isinf(info.minimum)) {
    text.append("finite and at most %.*g", digits, info.maximum);
  } else {
    text.append("%s %.*g, at most %.*g", info.exclusive_minimum != 0 ? "above" : "at least", digits,
                info.minimum, digits, info.maximum);
  }
  return FOVEA_INVALID_ARGUMENT;
}

struct Demand {
  int64_t at_least, at_most;
  const char* why;
  const char* what = "";  // closes the reason
};

// One past the largest query position; at least 1 if there is any query row, since kernels clamp
// negative positions to 0.
int64_t query_positions(const Problem& problem) {
  int64_t end = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (rows_of(problem, b) == 0) continue;
    const int64_t last = static_cast<int64_t>(offset_of(problem, b)) + rows_of(problem, b);
    if (end == 0) end = 1;
    if (last > end) end = last;
  }
  return end;
}

// Appending knows nothing of queries: tables over them are only handed on.
bool is_about_queries(fovea_axis axis) {
  return axis == FOVEA_AXIS_HEAD || axis == FOVEA_AXIS_QUERY || axis == FOVEA_AXIS_ROW;
}

Demand demand_of(const Problem& problem, const fovea_parameter_info& info, int32_t axis) {
  if (problem.request.pass == FOVEA_APPEND && is_about_queries(info.axes[axis]))
    return {0, INT32_MAX, "any extent"};
  switch (info.axes[axis]) {
    case FOVEA_AXIS_FIXED:
      return {info.fixed_extent[axis], info.fixed_extent[axis], "the declared extent"};
    case FOVEA_AXIS_BATCH:
      return {problem.batch, problem.batch, "the batch"};
    case FOVEA_AXIS_HEAD:
      return {problem.q_heads, problem.q_heads, "the number of query heads"};
    case FOVEA_AXIS_KV_HEAD:
      return {problem.kv_heads, problem.kv_heads, "the number of KV heads"};
    case FOVEA_AXIS_QUERY:
      return {query_positions(problem), INT32_MAX, "every query position, q_offset + q_len"};
    case FOVEA_AXIS_KEY:
      return {problem.kv_rows, INT32_MAX, "every key position, ", capacity_name(problem)};
    case FOVEA_AXIS_POSITION: {
      if (problem.request.pass == FOVEA_APPEND)
        return {problem.kv_rows, INT32_MAX, "every key position, ", capacity_name(problem)};
      const int64_t queries = query_positions(problem);
      return {queries > problem.kv_rows ? queries : problem.kv_rows, INT32_MAX,
              "every query position, q_offset + q_len, and every key position, ",
              capacity_name(problem)};
    }
    case FOVEA_AXIS_ROW:
      if (problem.is_ragged())
        return {problem.q_rows, INT32_MAX, "the most rows of a sequence in ragged.cu_q"};
      return {problem.q_rows, problem.q_rows, "the query rows, q.extent[2]"};
    case FOVEA_AXIS_FEATURE:
      return {problem.d_qk, problem.d_qk, "the features of q and k, q.extent[3]"};
    case FOVEA_AXIS_VALUE_FEATURE:
      return {problem.d_v, problem.d_v, "the features of v and out, v.extent[3]"};
    case FOVEA_AXIS_ANY:
      break;
  }
  return {1, INT32_MAX, "at least one entry"};
}

fovea_status check_table(const Problem& problem, const Outputs& outputs,
                         const fovea_parameter_info& info, const void* field) {
  fovea_table table = {};
  memcpy(&table, field, sizeof(table));
  View view = {info.name, table.data, dtype_size(info.dtype), info.rank, {}, {}};
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    const Demand demand = demand_of(problem, info, axis);
    const int64_t extent = table.extent[axis];
    if (extent < demand.at_least || extent > demand.at_most || extent < 0) {
      const bool exact = demand.at_least == demand.at_most;
      return fail(FOVEA_INVALID_ARGUMENT,
                  "params.%s.extent[%" PRId32 "] = %" PRId64 ": allowed: %s%" PRId64 " (%s%s)",
                  info.name, axis, extent,
                  exact                     ? ""
                  : extent > demand.at_most ? "at most 2147483647, at least "
                                            : "at least ",
                  demand.at_least, demand.why, demand.what);
    }
    view.extent[axis] = extent;
    view.stride[axis] = table.stride[axis];
  }
  if (!has_elements(view)) return FOVEA_OK;
  if (table.data == nullptr)
    return fail(FOVEA_INVALID_ARGUMENT, "params.%s.data is NULL: the table has elements",
                info.name);
  if (reinterpret_cast<uintptr_t>(table.data) % static_cast<uintptr_t>(view.element_size) != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "params.%s.data = %p: must be a multiple of the element size, %" PRId64 " bytes",
                info.name, table.data, view.element_size);
  }
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    const int64_t stride = table.stride[axis];
    if (view.extent[axis] > 1 && (stride > INT32_MAX || stride < INT32_MIN)) {
      return fail(FOVEA_UNSUPPORTED,
                  "params.%s.stride[%" PRId32 "] = %" PRId64 ": supported: %d to %d elements",
                  info.name, axis, stride, INT32_MIN, INT32_MAX);
    }
  }
  int64_t low = 0;
  int64_t high = 0;
  if (!byte_reach(view, &low, &high)) {
    return fail(
        FOVEA_INVALID_ARGUMENT,
        "params.%s.stride: with these extents the table reaches outside of the address space",
        info.name);
  }
  for (int i = 0; i < outputs.count; ++i) {
    const View output = tensor_view(outputs.list[i].name, *outputs.list[i].tensor);
    if (are_disjoint(output, view)) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.data = %p: overlaps params.%s (%p); allowed: no overlap", output.name,
                output.data, info.name, table.data);
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status check_parameters(const Problem& problem, const Outputs& outputs, const void* params) {
  const fovea_variant_info& variant = *problem.variant;
  if (params == nullptr && variant.parameter_count > 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "params is NULL: variant %s has %" PRId32 " parameters, the first is %s",
                variant.name, variant.parameter_count, variant.parameters[0].name);
  }
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& info = variant.parameters[i];
    const void* field = static_cast<const char*>(params) + info.offset;
    const fovea_status status = info.kind == FOVEA_SCALAR
                                    ? check_scalar(info, field)
                                    : check_table(problem, outputs, info, field);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
