// Checks of a merge: settings, types, shapes, memory.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "checks.h"
#include "layout.h"
#include "merge.h"

namespace fovea::detail {
namespace {

constexpr int kFeature = 3;

// The name of a field in a message. Of a part it has a number, which is not turned into text unless
// there is a message.
struct Name {
  const char* field;
  int64_t part = -1;

  void write(char (&text)[48]) const {
    if (part < 0) {
      snprintf(text, sizeof(text), "merged.%s", field);
    } else {
      snprintf(text, sizeof(text), "parts[%" PRId64 "].%s", part, field);
    }
  }
};

bool is_float(fovea_dtype dtype) {
  return dtype == FOVEA_F32 || dtype == FOVEA_F16 || dtype == FOVEA_BF16;
}

// Type, shape and memory of one tensor. `like` gives the rows, and the features unless is_lse.
fovea_status check_with_name(const char* name, const fovea_tensor& tensor, bool is_lse,
                             const fovea_tensor& like, Layout* layout) {
  if (is_lse ? tensor.dtype != FOVEA_F32 : !is_float(tensor.dtype)) {
    return fail(FOVEA_INVALID_ARGUMENT, "%s.dtype = %d (%s): allowed: %s", name,
                static_cast<int>(tensor.dtype), dtype_name(tensor.dtype),
                is_lse ? "f32" : "f32, f16, bf16");
  }
  const fovea_status status = check_layout(name, tensor, !is_lse, layout);
  if (status != FOVEA_OK) return status;
  for (int axis = 0; axis < 4; ++axis) {
    const bool is_number = is_lse && axis == kFeature;
    const int64_t expected = is_number ? 1 : like.extent[axis];
    if (tensor.extent[axis] == expected) continue;
    return fail(FOVEA_INVALID_ARGUMENT, "%s.extent[%d] = %" PRId64 ": allowed: %" PRId64 ", %s%s",
                name, axis, tensor.extent[axis], expected,
                is_number ? "one number a row" : "that of ", is_number ? "" : "merged.out");
  }
  return FOVEA_OK;
}

fovea_status check_tensor(const Name& name, const fovea_tensor& tensor, bool is_lse,
                          const fovea_tensor& like, Layout* layout) {
  if (check_with_name("", tensor, is_lse, like, layout) == FOVEA_OK) return FOVEA_OK;
  char text[48];
  name.write(text);
  return check_with_name(text, tensor, is_lse, like, layout);
}

struct Tensor {
  Name name;
  const fovea_tensor* tensor;
  Layout layout;
};

// `may_be_same`: the output may lie exactly where the other tensor does.
fovea_status check_overlap(const Tensor& output, const Tensor& other, bool may_be_same) {
  if (!share_memory(output.layout, other.layout)) return FOVEA_OK;
  if (may_be_same && output.tensor->dtype == other.tensor->dtype &&
      are_identical(output.layout.view, other.layout.view)) {
    return FOVEA_OK;
  }
  char name[48];
  char other_name[48];
  output.name.write(name);
  other.name.write(other_name);
  return fail(
      FOVEA_INVALID_ARGUMENT, "%s.data = %p: overlaps %s (%p); allowed: no overlap%s", name,
      output.tensor->data, other_name, other.tensor->data,
      may_be_same ? ", or exactly that tensor with the same type, extents and strides" : "");
}

}  // namespace

fovea_status check_merge(const fovea_partial* parts, int64_t count, const fovea_partial* merged,
                         const fovea_exec* exec, Merge* merge) {
  if (count < 0)
    return fail(FOVEA_INVALID_ARGUMENT, "count = %" PRId64 ": allowed: 0 or more", count);
  if (parts == nullptr && count > 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "parts is NULL: allowed only with count = 0, it is %" PRId64, count);
  }
  if (merged == nullptr) return fail(FOVEA_INVALID_ARGUMENT, "merged is NULL");
  *merge = {parts, count, *merged, {}};
  if (exec != nullptr) {
    fovea_status status = complete("exec", exec, kFirstExecSize, sizeof(fovea_exec), &merge->exec);
    if (status == FOVEA_OK) status = check_threads(merge->exec);
    if (status == FOVEA_OK) status = check_stream(merge->exec);
    if (status != FOVEA_OK) return status;
  }

  Tensor out = {{"out"}, &merge->merged.out, {}};
  Tensor lse = {{"lse"}, &merge->merged.lse, {}};
  const bool wants_lse = lse.tensor->data != nullptr;
  fovea_status status = check_tensor(out.name, *out.tensor, false, *out.tensor, &out.layout);
  if (status == FOVEA_OK) status = check_distinct("merged.out", *out.tensor, out.layout);
  if (status == FOVEA_OK && wants_lse) {
    status = check_tensor(lse.name, *lse.tensor, true, *out.tensor, &lse.layout);
    if (status == FOVEA_OK) status = check_distinct("merged.lse", *lse.tensor, lse.layout);
    if (status == FOVEA_OK) status = check_overlap(lse, out, false);
  }
  for (int64_t i = 0; i < count && status == FOVEA_OK; ++i) {
    Tensor part_out = {{"out", i}, &parts[i].out, {}};
    Tensor part_lse = {{"lse", i}, &parts[i].lse, {}};
    status = check_tensor(part_out.name, parts[i].out, false, *out.tensor, &part_out.layout);
    if (status == FOVEA_OK)
      status = check_tensor(part_lse.name, parts[i].lse, true, *out.tensor, &part_lse.layout);
    if (status == FOVEA_OK) status = check_overlap(out, part_out, true);
    if (status == FOVEA_OK) status = check_overlap(out, part_lse, false);
    if (status != FOVEA_OK || !wants_lse) continue;
    status = check_overlap(lse, part_out, false);
    if (status == FOVEA_OK) status = check_overlap(lse, part_lse, true);
  }
  return status;
}

}  // namespace fovea::detail
