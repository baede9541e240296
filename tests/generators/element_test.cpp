// element_test.cpp: conversions of elements inside a kernel against the ones of the reference.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/half_precision.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include "generators/lowering/dot_pairs.h"
#include "generators/pipelines/element.h"

namespace fovea {
namespace {

using Halide::Expr;

// Without the instructions for f16, and with them.
std::vector<Halide::Target> targets() {
  return {Halide::Target("x86-64-linux-sse41"),
          Halide::Target("x86-64-linux-sse41-avx-f16c-fma-avx2")};
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& in, const Halide::Target& target,
                          const std::function<Expr(Expr)>& f) {
  Halide::Buffer<From> from(const_cast<From*>(in.data()), static_cast<int>(in.size()));
  Halide::Var x("x");
  Halide::Func g("converted");
  g(x) = f(from(x));
  g.vectorize(x, target.natural_vector_size<float>());
  std::vector<To> out(in.size());
  Halide::Buffer<To> to(out.data(), static_cast<int>(out.size()));
  g.realize(to, target);
  return out;
}

std::vector<uint16_t> all_words() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

// Every kind of number, and around every number of 16 bits the middle to its neighbour.
std::vector<float> floats(Element element) {
  std::vector<float> all;
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i)
    all.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (uint32_t word = 0; word < 65536; ++word) {
    const auto bits = static_cast<uint16_t>(word);
    const float exact = element == Element::F16 ? widened_f16(bits) : widened_bf16(bits);
    if (std::isnan(exact)) continue;
    const uint32_t half_step = element == Element::F16 ? 1u << 12 : 1u << 15;
    for (const int32_t offset : {-1, 0, 1}) {
      all.push_back(exact);
      all.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(exact) + half_step +
                                         static_cast<uint32_t>(offset)));
    }
  }
  return all;
}

TEST(Element, WideningIsExact) {
  for (const Halide::Target& target : targets()) {
    SCOPED_TRACE(target.to_string());
    for (const Element element : {Element::F16, Element::BF16}) {
      const std::vector<uint16_t> words = all_words();
      const std::vector<float> wide = converted<float>(words, target, [&](Expr word) {
        return widen(Halide::reinterpret(stored_type(element), word));
      });
      for (size_t i = 0; i < words.size(); ++i) {
        const float expected =
            element == Element::F16 ? widened_f16(words[i]) : widened_bf16(words[i]);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(wide[i])) << words[i];
        } else {
          EXPECT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(expected))
              << words[i];
        }
      }
    }
  }
}

TEST(Element, NarrowingIsToNearestEven) {
  for (const Halide::Target& target : targets()) {
    SCOPED_TRACE(target.to_string());
    for (const Element element : {Element::F16, Element::BF16}) {
      const std::vector<float> numbers = floats(element);
      const std::vector<uint16_t> words = converted<uint16_t>(numbers, target, [&](Expr number) {
        return Halide::reinterpret(Halide::UInt(16), narrow(number, element));
      });
      size_t wrong = 0;
      for (size_t i = 0; i < words.size(); ++i) {
        const auto back = [&](uint16_t word) {
          return element == Element::F16 ? widened_f16(word) : widened_bf16(word);
        };
        const uint16_t expected =
            element == Element::F16 ? rounded_to_f16(numbers[i]) : rounded_to_bf16(numbers[i]);
        const bool same =
            std::isnan(numbers[i]) ? std::isnan(back(words[i])) : words[i] == expected;
        if (!same && wrong++ < 5) {
          ADD_FAILURE() << numbers[i] << " becomes " << words[i] << ", not " << expected;
        }
      }
      EXPECT_EQ(wrong, 0u);
    }
  }
}

// Pairs come apart into the numbers that were put in, and a dot product of pairs, which only a
// lowering pass turns into arithmetic, is theirs.
TEST(Element, PairsOfBf16) {
  const std::vector<float> numbers = {1.0f, -2.5f, 0.0f, 3.140625f, 1e-3f, -7e4f, 0.5f, 100.0f};
  std::vector<float> rounded;
  for (const float x : numbers) rounded.push_back(widened_bf16(rounded_to_bf16(x)));
  Halide::Buffer<float> in(const_cast<float*>(numbers.data()), 8);
  Halide::Var x("x");
  Halide::Func pairs("pairs"), products("products");
  pairs(x) = pair_of_rounded(in(2 * (x % 4)), in(2 * (x % 4) + 1));
  products(x) = dot_pair(pairs(x), pairs((x + 1) % 4));
  pairs.compute_root();
  products.bound(x, 0, 4).vectorize(x, 4);
  ExpandDotPairs expand;
  products.add_custom_lowering_pass(&expand, nullptr);
  const Halide::Buffer<float> got = products.realize({4}, targets()[1]);
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int pair, int part) {
      return rounded[static_cast<size_t>(2 * (pair % 4) + part)];
    };
    EXPECT_FLOAT_EQ(got(i), at(i, 0) * at(i + 1, 0) + at(i, 1) * at(i + 1, 1));
  }
}

TEST(Element, PairsOfWeightsKeepNan) {
  const std::vector<uint32_t> bits = {0x3f800000u, 0x7fffffffu, 0xffffffffu, 0xffc00000u,
                                      0x00000000u, 0x3f808000u, 0x3f808001u, 0x3f807fffu};
  const std::vector<uint32_t> pairs = converted<uint32_t>(bits, targets()[1], [](Expr word) {
    const Expr weight = Halide::reinterpret(Halide::Float(32), word);
    return pair_of_weights(weight, weight);
  });
  for (size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ(pairs[i] >> 16, pairs[i] & 0xffffu);
    const float weight = std::bit_cast<float>(bits[i]);
    const float got = widened_bf16(static_cast<uint16_t>(pairs[i] >> 16));
    if (std::isnan(weight)) {
      EXPECT_TRUE(std::isnan(got)) << std::hex << bits[i];
    } else {
      EXPECT_NEAR(got, weight, weight / 256) << std::hex << bits[i];
    }
  }
}

TEST(Element, UnknownTypesAreRefused) {
  EXPECT_EQ(element_of("bf16"), Element::BF16);
  try {
    element_of("f64");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "dtype 'f64': allowed: f32, f16, bf16");
  }
}

}  // namespace
}  // namespace fovea
