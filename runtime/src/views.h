// Where the elements of a strided view lie: reach, distinctness, overlap. Exact 64-bit arithmetic
// throughout. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_VIEWS_H
#define FOVEA_VIEWS_H

#include <fovea/fovea.h>

namespace fovea::detail {

struct View {
  const char* name;  // of the field, for messages
  const void* data;
  int64_t element_size;
  int32_t rank;  // at most 4
  int64_t extent[4];
  int64_t stride[4];  // elements
};

// In FOVEA_I4 of its bytes, each of which holds two features.
View tensor_view(const char* name, const fovea_tensor& tensor);

bool has_elements(const View& view);

// Bytes from data to the first byte and past the last; false if they do not fit 63 bits or leave
// the address space.
bool byte_reach(const View& view, int64_t* low, int64_t* high);

// Whether no two index tuples share an element, by the rule that covers every layout made by
// permuting, slicing and padding: each stride is larger than all that the smaller ones reach
// together.
bool elements_are_distinct(const View& view);

// Whether two views share no byte. Sees through interleaving (q, k and v packed into one row). Both
// must have passed byte_reach. May say false for unusual strides that miss each other by luck,
// never true for an overlap.
bool are_disjoint(const View& a, const View& b);

// Same address, extents and strides (where strides matter).
bool are_identical(const View& a, const View& b);

}  // namespace fovea::detail
#endif
