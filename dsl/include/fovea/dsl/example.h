// example.h: typical values for every parameter of a variant, for pictures, benchmarks and tests.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_EXAMPLE_H
#define FOVEA_DSL_EXAMPLE_H

#include <fovea/dsl/reference.h>
#include <fovea/dsl/variant.h>

#include <cstddef>
#include <vector>

namespace fovea {

// Owns a value of every parameter of a variant, as Parameter::example_* give them for a call of
// this shape with the default offset kv_len - q_len. Without an example, a scalar takes the value
// of its range that is closest to 1, and a table holds 0, a table of bool true. Tables are dense in
// the order of their axes, and those over positions cover every position of the call.
class ExampleParameters {
 public:
  // Throws DeclarationError: an example that its own parameter does not allow.
  ExampleParameters(const Variant& variant, const ExampleShape& shape);
  // Values point into the memory that this owns.
  ExampleParameters(const ExampleParameters&) = delete;
  ExampleParameters& operator=(const ExampleParameters&) = delete;
  ExampleParameters(ExampleParameters&&) = default;
  ExampleParameters& operator=(ExampleParameters&&) = default;

  const ParameterValues& values() const { return values_; }
  // The generated params structure; NULL for a variant without parameters.
  const void* data() const { return block_.empty() ? nullptr : block_.data(); }

 private:
  template <typename T>
  void append_(const T& field);

  std::vector<std::vector<std::byte>> tables_;
  std::vector<std::byte> block_;
  ParameterValues values_;
};

}  // namespace fovea

#endif
