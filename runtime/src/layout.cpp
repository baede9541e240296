// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <inttypes.h>
#include <limits.h>

#include "message.h"

namespace fovea::detail {

fovea_status check_layout(const char* name, const fovea_tensor& tensor, bool has_features,
                          Layout* layout) {
  constexpr int kFeature = 3;
  for (int axis = 0; axis < 4; ++axis) {
    if (tensor.extent[axis] < 0 || tensor.extent[axis] > INT32_MAX) {
      return fail(FOVEA_INVALID_ARGUMENT, "%s.extent[%d] = %" PRId64 ": allowed: 0 to %d", name,
                  axis, tensor.extent[axis], INT32_MAX);
    }
  }
  if (has_features && tensor.extent[kFeature] > 1 && tensor.stride[kFeature] != 1) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.stride[3] = %" PRId64 ": allowed: 1, features lie next to each other", name,
                tensor.stride[kFeature]);
  }
  layout->view = tensor_view(name, tensor);
  layout->begin = layout->end = 0;
  if (!has_elements(layout->view)) return FOVEA_OK;
  if (tensor.data == nullptr) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.data is NULL: allowed only without elements, the extents are %" PRId64
                ", %" PRId64 ", %" PRId64 ", %" PRId64,
                name, tensor.extent[0], tensor.extent[1], tensor.extent[2], tensor.extent[3]);
  }
  const int64_t size = layout->view.element_size;
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % static_cast<uintptr_t>(size) != 0) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.data = %p: must be a multiple of the element size, %" PRId64 " bytes", name,
                tensor.data, size);
  }
  int64_t low = 0;
  int64_t high = 0;
  if (!byte_reach(layout->view, &low, &high)) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.stride = %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                ": with these extents the tensor reaches outside of the address space",
                name, tensor.stride[0], tensor.stride[1], tensor.stride[2], tensor.stride[3]);
  }
  layout->begin = address + static_cast<uintptr_t>(low);
  layout->end = address + static_cast<uintptr_t>(high);
  return FOVEA_OK;
}

fovea_status check_distinct(const char* name, const fovea_tensor& tensor, const Layout& layout) {
  if (elements_are_distinct(layout.view)) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "%s.stride = %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
              ": elements of an output must not share memory; each stride must exceed what the "
              "smaller ones reach",
              name, tensor.stride[0], tensor.stride[1], tensor.stride[2], tensor.stride[3]);
}

bool share_memory(const Layout& a, const Layout& b) {
  // Nearly always: one lies wholly before the other.
  if (a.end <= b.begin || b.end <= a.begin) return false;
  return !are_disjoint(a.view, b.view);
}

}  // namespace fovea::detail
