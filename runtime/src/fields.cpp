// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <initializer_list>

#include "message.h"

namespace fovea::detail {
namespace {

fovea_status check_overlap(const Field& output, const Field& other) {
  if (!share_memory(output.layout, other.layout)) return FOVEA_OK;
  const bool out_over_q = strcmp(output.name, "out") == 0 && strcmp(other.name, "q") == 0;
  if (out_over_q && are_identical(output.layout.view, other.layout.view)) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.data = %p: overlaps %s (%p)%s", output.name,
              output.layout.view.data, other.name, other.layout.view.data,
              out_over_q ? "; allowed: no overlap, or exactly q with the same extents and strides"
                         : "; allowed: no overlap");
}

}  // namespace

fovea_status check_alone(Field& field) {
  const fovea_tensor& tensor = *field.tensor;
  const fovea_status status =
      check_layout(field.name, tensor, field.rules.has_features, &field.layout);
  if (status != FOVEA_OK || !has_elements(field.layout.view)) return status;
  constexpr const char* kSteps[] = {"page", "head", "row", "key"};
  for (const int axis : {0, 2, 3}) {
    if (axis == 0 && !field.rules.has_pages) continue;
    const int64_t stride = tensor.stride[axis];
    if (tensor.extent[axis] <= 1 || (stride >= INT32_MIN && stride <= INT32_MAX)) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s.stride[%d] = %" PRId64 ": supported: %s strides of %d to %d elements",
                field.name, axis, stride, kSteps[axis], INT32_MIN, INT32_MAX);
  }
  return field.rules.is_output ? check_distinct(field.name, tensor, field.layout) : FOVEA_OK;
}

fovea_status check_same(const EqualExtent& rule) {
  const int64_t extent = rule.tensor->extent[rule.axis];
  if (extent == rule.expected) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "%s.extent[%d] = %" PRId64 ": allowed: %" PRId64 ", %s",
              rule.name, rule.axis, extent, rule.expected, rule.other);
}

fovea_status check_overlaps(const Fields& fields) {
  for (int i = 0; i < fields.count; ++i) {
    if (!fields.field[i].rules.is_output) continue;
    for (int j = 0; j < i; ++j) {
      const fovea_status status = check_overlap(fields.field[i], fields.field[j]);
      if (status != FOVEA_OK) return status;
    }
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
