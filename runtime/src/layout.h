// Where one tensor lies, and the checks that need no other tensor.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_LAYOUT_H
#define FOVEA_LAYOUT_H

#include "views.h"

namespace fovea::detail {

// The first byte of a tensor and the one past its last; both 0 without elements.
struct Layout {
  View view;
  uintptr_t begin, end;
};

// Extents, feature stride (has_features: the last axis is that of features), address, reach.
fovea_status check_layout(const char* name, const fovea_tensor& tensor, bool has_features,
                          Layout* layout);

// Of an output: that no two elements share memory.
fovea_status check_distinct(const char* name, const fovea_tensor& tensor, const Layout& layout);

// Both must have passed check_layout. May say true for unusual strides that miss each other.
bool share_memory(const Layout& a, const Layout& b);

}  // namespace fovea::detail
#endif
