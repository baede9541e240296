// The tensors of a call as checks go through them: each alone, then every output against the rest.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_FIELDS_H
#define FOVEA_FIELDS_H

#include "layout.h"
#include "outputs.h"

namespace fovea::detail {

// What is asked of a tensor beyond what every tensor must have.
struct FieldRules {
  bool is_output;     // no two elements share memory, no other field does
  bool has_features;  // the last axis is that of features
  bool has_pages;     // the first axis is that of pages, which kernels step through
};

struct Field {
  const char* name;
  const fovea_tensor* tensor;
  FieldRules rules;
  Layout layout;  // known once it has been checked
};

// Inputs come first, then the outputs.
struct Fields {
  Field field[6 + kExtraOutputCount];
  int count = 0;

  void add(const char* name, const fovea_tensor& tensor, FieldRules rules) {
    Field& added = field[count++];
    added.name = name;
    added.tensor = &tensor;
    added.rules = rules;
  }
  Field* begin() { return field; }
  Field* end() { return field + count; }
};

fovea_status check_alone(Field& field);

// An extent that follows from something else.
struct EqualExtent {
  const char* name;
  const fovea_tensor* tensor;
  int axis;
  const char* other;  // what it is equal to, in words
  int64_t expected;
};
fovea_status check_same(const EqualExtent& rule);

// Outputs share no memory with any field before them; out may be q.
fovea_status check_overlaps(const Fields& fields);

}  // namespace fovea::detail
#endif
