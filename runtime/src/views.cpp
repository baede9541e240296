// SPDX-License-Identifier: Apache-2.0
#include "views.h"

#include <initializer_list>

#include "message.h"

namespace fovea::detail {
namespace {

uint64_t magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The view as copies of one hull: every element lies in [start + n·g, start + n·g + length) for
// some integer n, where g divides all strides of `threshold` bytes or more, and the hull is the
// reach of the smaller ones.
struct Hull {
  uint64_t start;
  uint64_t length;
};

uint64_t byte_stride(const View& view, int axis) {
  return magnitude(view.stride[axis]) * static_cast<uint64_t>(view.element_size);
}

Hull hull_below(const View& view, uint64_t threshold) {
  Hull hull = {reinterpret_cast<uintptr_t>(view.data), static_cast<uint64_t>(view.element_size)};
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extent[axis] <= 1 || byte_stride(view, axis) >= threshold) continue;
    const uint64_t reach = byte_stride(view, axis) * static_cast<uint64_t>(view.extent[axis] - 1);
    hull.length += reach;
    if (view.stride[axis] < 0) hull.start -= reach;
  }
  return hull;
}

uint64_t period_above(const View& view, uint64_t threshold, uint64_t period) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extent[axis] <= 1 || byte_stride(view, axis) < threshold) continue;
    period = greatest_common_divisor(period, byte_stride(view, axis));
  }
  return period;
}

bool are_disjoint_at(const View& a, const View& b, uint64_t threshold) {
  const Hull one = hull_below(a, threshold);
  const Hull two = hull_below(b, threshold);
  const uint64_t period = period_above(b, threshold, period_above(a, threshold, 0));
  if (period == 0)
    return one.start + one.length <= two.start || two.start + two.length <= one.start;
  // Distance from the start of one's hull up to the next start of two's, going round the period.
  const uint64_t distance = two.start >= one.start
                                ? (two.start - one.start) % period
                                : (period - (one.start - two.start) % period) % period;
  return distance >= one.length && two.length <= period - distance;
}

}  // namespace

View tensor_view(const char* name, const fovea_tensor& tensor) {
  View view = {name, tensor.data, dtype_size(tensor.dtype), 4, {}, {}};
  for (int axis = 0; axis < 4; ++axis) {
    view.extent[axis] = tensor.extent[axis];
    view.stride[axis] = tensor.stride[axis];
  }
  if (tensor.dtype == FOVEA_I4) {
    for (int axis = 0; axis < 3; ++axis) view.stride[axis] /= 2;
    view.extent[3] /= 2;
  }
  return view;
}

bool has_elements(const View& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extent[axis] <= 0) return false;
  }
  return true;
}

bool byte_reach(const View& view, int64_t* low, int64_t* high) {
  *low = 0;
  *high = 0;
  if (!has_elements(view)) return true;
  *high = view.element_size;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extent[axis] == 1) continue;
    int64_t reach = 0;
    if (__builtin_mul_overflow(view.extent[axis] - 1, view.stride[axis], &reach) ||
        __builtin_mul_overflow(reach, view.element_size, &reach)) {
      return false;
    }
    int64_t* end = reach < 0 ? low : high;
    if (__builtin_add_overflow(*end, reach, end)) return false;
  }
  const uintptr_t base = reinterpret_cast<uintptr_t>(view.data);
  return magnitude(*low) <= base && static_cast<uint64_t>(*high) <= UINTPTR_MAX - base;
}

bool elements_are_distinct(const View& view) {
  if (!has_elements(view)) return true;
  bool done[4] = {};
  uint64_t reach = 0;  // elements, of the axes looked at so far
  for (int step = 0; step < view.rank; ++step) {
    int next = -1;
    for (int axis = 0; axis < view.rank; ++axis) {
      if (done[axis] || view.extent[axis] == 1) continue;
      if (next < 0 || magnitude(view.stride[axis]) < magnitude(view.stride[next])) next = axis;
    }
    if (next < 0) break;
    if (magnitude(view.stride[next]) <= reach) return false;
    reach += magnitude(view.stride[next]) * static_cast<uint64_t>(view.extent[next] - 1);
    done[next] = true;
  }
  return true;
}

bool are_disjoint(const View& a, const View& b) {
  if (!has_elements(a) || !has_elements(b)) return true;
  if (are_disjoint_at(a, b, UINT64_MAX)) return true;  // plain byte ranges
  for (const View* view : {&a, &b}) {
    for (int axis = 0; axis < view->rank; ++axis) {
      if (view->extent[axis] <= 1 || view->stride[axis] == 0) continue;
      if (are_disjoint_at(a, b, byte_stride(*view, axis))) return true;
    }
  }
  return false;
}

bool are_identical(const View& a, const View& b) {
  if (a.data != b.data || a.element_size != b.element_size || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.extent[axis] != b.extent[axis]) return false;
    if (a.extent[axis] > 1 && a.stride[axis] != b.stride[axis]) return false;
  }
  return true;
}

}  // namespace fovea::detail
