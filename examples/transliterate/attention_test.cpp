// The generated kernels as this program calls them, against the formula in double.
//
// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

namespace transliterate {
namespace {

constexpr auto kWidth = static_cast<std::size_t>(kFeatures);

struct Problem {
  std::vector<std::int32_t> lengths;
  std::int64_t per_name;
  std::int64_t tokens;
  float scale;
  std::vector<float> queries;
  std::vector<float> memory;

  Problem(std::vector<std::int32_t> of_names, std::int64_t rows, float factor)
      : lengths(std::move(of_names)),
        per_name(rows),
        tokens(*std::max_element(lengths.begin(), lengths.end())),
        scale(factor) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    queries.resize(lengths.size() * static_cast<std::size_t>(per_name) * kWidth);
    memory.resize(lengths.size() * static_cast<std::size_t>(tokens) * kWidth);
    for (float& x : queries) x = normal(generator);
    for (float& x : memory) x = normal(generator);
    for (std::size_t name = 0; name < lengths.size(); ++name) {
      for (std::int64_t k = lengths[name]; k < tokens; ++k) {
        std::fill_n(key(name, k), kWidth, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

  float* key(std::size_t name, std::int64_t k) {
    return memory.data() + (static_cast<std::int64_t>(name) * tokens + k) * kFeatures;
  }

  // Weights of a query, then the context they make.
  std::vector<double> expected(std::size_t name, std::int64_t row) {
    const float* const query =
        queries.data() + (static_cast<std::int64_t>(name) * per_name + row) * kFeatures;
    std::vector<double> result(static_cast<std::size_t>(tokens) + kWidth, 0.0);
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int32_t k = 0; k < lengths[name]; ++k) {
      double score = 0;
      for (std::size_t d = 0; d < kWidth; ++d)
        score += static_cast<double>(query[d]) * key(name, k)[d];
      result[static_cast<std::size_t>(k)] = scale * score;
      largest = std::max(largest, scale * score);
    }
    double sum = 0;
    for (std::int32_t k = 0; k < lengths[name]; ++k) {
      double& weight = result[static_cast<std::size_t>(k)];
      weight = std::exp(weight - largest);
      sum += weight;
    }
    for (std::int32_t k = 0; k < lengths[name]; ++k) {
      double& weight = result[static_cast<std::size_t>(k)];
      weight /= sum;
      for (std::size_t d = 0; d < kWidth; ++d) {
        result[static_cast<std::size_t>(tokens) + d] += weight * key(name, k)[d];
      }
    }
    return result;
  }
};

// `wanted`: weights are an output too, which another pass computes.
void compare(Problem problem, bool wanted) {
  const std::size_t rows = problem.lengths.size() * static_cast<std::size_t>(problem.per_name);
  const std::size_t stride = 2 * kWidth;
  std::vector<float> out(rows * stride, -5.0F);
  std::vector<float> weights(rows * static_cast<std::size_t>(problem.tokens), -5.0F);
  SourceAttention attention(0);
  attention.run(
      {problem.queries.data(), problem.per_name, problem.scale},
      {problem.memory.data(), static_cast<std::int64_t>(problem.lengths.size()), problem.tokens,
       problem.lengths},
      {out.data() + kWidth, static_cast<std::int64_t>(stride), wanted ? weights.data() : nullptr});
  for (std::size_t row = 0; row < rows; ++row) {
    const auto per_name = static_cast<std::size_t>(problem.per_name);
    const std::vector<double> expected =
        problem.expected(row / per_name, static_cast<std::int64_t>(row % per_name));
    const auto tokens = static_cast<std::size_t>(problem.tokens);
    for (std::size_t d = 0; d < kWidth; ++d) {
      ASSERT_EQ(out[row * stride + d], -5.0F) << "row " << row << ": the other half was written to";
      ASSERT_NEAR(out[row * stride + kWidth + d], expected[tokens + d], 1e-4) << "row " << row;
    }
    for (std::size_t k = 0; k < tokens; ++k) {
      const double weight = weights[row * tokens + k];
      if (!wanted) {
        ASSERT_EQ(weight, -5.0);
      } else if (static_cast<std::int32_t>(k) >= problem.lengths[row / per_name]) {
        ASSERT_EQ(weight, 0.0) << "row " << row << " sees padding " << k;
      } else {
        ASSERT_NEAR(weight, expected[k], 1e-5) << "row " << row << " key " << k;
      }
    }
  }
}

TEST(Attention, OneNameOneHypothesis) {
  compare(Problem({13}, 1, 0.1F), false);
  compare(Problem({13}, 1, 0.1F), true);
}

TEST(Attention, PaddingOfNanIsNotSeen) {
  compare(Problem({5, 40, 4, 17}, 3, 0.1F), false);
  compare(Problem({5, 40, 4, 17}, 3, 0.1F), true);
}

TEST(Attention, OneTokenTakesAllWeight) { compare(Problem({1, 2}, 2, 1), true); }

TEST(Attention, TheModelsOwnScale) {
  compare(Problem({9, 12}, 5, 1), false);
  compare(Problem({9, 12}, 5, 1), true);
}

TEST(Attention, ScaleZeroMakesAllWeightsEqual) {
  compare(Problem({3, 8}, 2, 0), true);
  compare(Problem({3, 8}, 2, 0), false);
}

TEST(Attention, MoreHypothesesThanDecodeTakes) { compare(Problem({6, 3}, 40, 0.1F), false); }

TEST(Attention, ErrorsOfTheLibraryArrive) {
  const std::vector<std::int32_t> lengths = {2};
  const std::vector<float> rows(2 * kWidth);
  std::vector<float> out(kWidth);
  SourceAttention attention(0);
  try {
    attention.run({nullptr, 1, 1}, {rows.data(), 1, 2, lengths}, {out.data(), kFeatures, nullptr});
    FAIL() << "a query that is not there was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("q"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace transliterate
