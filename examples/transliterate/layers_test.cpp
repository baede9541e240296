// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace transliterate {
namespace {

TEST(Layers, DenseReadsRowsApart) {
  const std::vector<float> weight = {1, 2, 3, 4, 5, 6};  // two outputs of three inputs
  const std::vector<float> bias = {10, 20};
  const std::vector<float> x = {1, 0, 0, 9, 0, 1, 1, 9};  // rows of three, four apart
  std::vector<float> y(4, -1.0F);
  apply({weight.data(), bias.data(), 3, 2}, x.data(), 4, 2, y.data());
  EXPECT_EQ(y, (std::vector<float>{11, 24, 15, 31}));
}

TEST(Layers, DenseWithoutBiasOverwrites) {
  const std::vector<float> weight = {1, 2};
  const std::vector<float> x = {3, 4};
  std::vector<float> y = {1000};
  apply({weight.data(), nullptr, 2, 1}, x.data(), 2, 1, y.data());
  EXPECT_EQ(y.front(), 11);
}

TEST(Layers, GatesInTheirOrder) {
  const auto state_after = [](float reset, float update, float fresh_input, float fresh_state,
                              float state) {
    const std::vector<float> from_input = {reset, update, fresh_input};
    const std::vector<float> from_state = {0, 0, fresh_state};
    advance(from_input.data(), from_state.data(), 1, &state);
    return state;
  };
  EXPECT_FLOAT_EQ(state_after(0, 100, 5, 5, 0.25F), 0.25F) << "update 1 keeps the state";
  EXPECT_FLOAT_EQ(state_after(-100, -100, 0.5F, 7, 0.25F), std::tanh(0.5F))
      << "reset 0 hides the state from what is new";
  EXPECT_FLOAT_EQ(state_after(100, -100, 0.5F, 0.25F, 0), std::tanh(0.75F));
  EXPECT_FLOAT_EQ(state_after(0, 0, 0, 1, 0.5F), 0.5F * std::tanh(0.5F) + 0.25F);
}

TEST(Layers, LogSoftmaxOfLargeNumbers) {
  std::vector<float> x = {1000, 1000, -1e30F};
  log_softmax(3, x.data());
  EXPECT_FLOAT_EQ(x[0], -std::log(2.0F));
  EXPECT_FLOAT_EQ(x[1], -std::log(2.0F));
  EXPECT_LT(x[2], -1e29F);
}

}  // namespace
}  // namespace transliterate
