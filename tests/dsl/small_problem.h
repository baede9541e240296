// small_problem.h: calls small enough to know their answer by hand.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_DSL_SMALL_PROBLEM_H
#define FOVEA_TESTS_DSL_SMALL_PROBLEM_H

#include <fovea/dsl/masks.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace fovea {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t b = 1, hq = 1, hkv = 1, sq = 1, skv = 1, d = 1, dv = 1;
};

inline fovea_tensor dense(std::vector<float>& data, int64_t b, int64_t h, int64_t s, int64_t d) {
  return {data.data(), FOVEA_F32, {b, h, s, d}, {h * s * d, s * d, d, 1}};
}

// Inputs of one call in dense BHSD f32: zeros until a test fills them.
struct Problem {
  explicit Problem(Shape shape)
      : q(static_cast<size_t>(shape.b * shape.hq * shape.sq * shape.d)),
        k(static_cast<size_t>(shape.b * shape.hkv * shape.skv * shape.d)),
        v(static_cast<size_t>(shape.b * shape.hkv * shape.skv * shape.dv)) {
    call.size = sizeof(call);
    call.q = dense(q, shape.b, shape.hq, shape.sq, shape.d);
    call.k = dense(k, shape.b, shape.hkv, shape.skv, shape.d);
    call.v = dense(v, shape.b, shape.hkv, shape.skv, shape.dv);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  std::vector<float> q, k, v;
  fovea_call call{};
};

// sq rows of zeros against keys whose values are 1, 2, 3, …: every row is the mean of what it sees.
inline std::unique_ptr<Problem> counting(int64_t sq, int64_t skv) {
  auto problem = std::make_unique<Problem>(Shape{.sq = sq, .skv = skv});
  for (size_t i = 0; i < problem->v.size(); ++i) problem->v[i] = static_cast<float>(i + 1);
  return problem;
}

inline void fill(std::vector<float>& data, uint32_t seed) {
  for (float& x : data) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
}

inline Variant masked(const Mask& mask) {
  Variant v("masked");
  v.keep(mask);
  return v;
}

inline Variant plain() { return Variant("plain"); }

// Both precisions must give the exact answer.
inline void expect_rows(const Variant& variant, const fovea_call& call,
                        const std::vector<double>& out, const ParameterValues& values = {}) {
  EXPECT_EQ(reference_attention(variant, call, values).out, out);
  EXPECT_EQ(plain_attention(variant, call, values).out, out);
}

// A table of the given numbers, dense.
template <typename T>
ParameterValue table_of(const std::vector<T>& entries, const std::vector<int64_t>& extents) {
  ParameterValue value;
  value.table.data = entries.data();
  int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    value.table.extent[axis] = extents[axis];
    value.table.stride[axis] = stride;
    stride *= extents[axis];
  }
  return value;
}

inline ParameterValue scalar_of(double number) {
  ParameterValue value;
  value.scalar = number;
  return value;
}

}  // namespace fovea

#endif
