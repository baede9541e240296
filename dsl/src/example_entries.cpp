// example_entries.cpp: typical entries of tables.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/example_entries.h>
#include <fovea/dsl/relative_bias.h>

#include <algorithm>

namespace fovea::example {
namespace {

int64_t document_of(const ExampleShape& shape, int64_t count, int64_t position) {
  const int64_t length = std::max<int64_t>(1, (shape.kv_len + count - 1) / count);
  return std::min(position / length, count - 1);
}

}  // namespace

Entry constant(double value) {
  return [value](const ExampleShape&, const std::vector<int64_t>&) { return value; };
}

Entry scattered(double low, double high) {
  return [=](const ExampleShape&, const std::vector<int64_t>& index) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (const int64_t i : index) {
      h = (h ^ static_cast<uint64_t>(i)) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return low + (high - low) * static_cast<double>(h >> 11) * 0x1p-53;
  };
}

Entry alibi_slope() {
  return [](const ExampleShape& shape, const std::vector<int64_t>& index) {
    return static_cast<double>(alibi_slopes(shape.heads).at(static_cast<size_t>(index.back())));
  };
}

Entry document(int64_t count) {
  return [count](const ExampleShape& shape, const std::vector<int64_t>& index) {
    return static_cast<double>(document_of(shape, count, index.back()));
  };
}

Entry document_start(int64_t count) {
  return [count](const ExampleShape& shape, const std::vector<int64_t>& index) {
    const int64_t length = std::max<int64_t>(1, (shape.kv_len + count - 1) / count);
    return static_cast<double>(document_of(shape, count, index.back()) * length);
  };
}

Entry length() {
  return [](const ExampleShape& shape, const std::vector<int64_t>& index) {
    const int64_t quarter = shape.kv_len / 4;
    return static_cast<double>(shape.kv_len - (index.back() % 4) * quarter / 3);
  };
}

}  // namespace fovea::example
