// sigmoid_attention.cpp: a sigmoid in place of the softmax.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(sigmoid_attention, v) {
  auto bias = v.scalar<float>("bias");
  bias.describe("added to every score; -ln(kv_len) makes the weights of a row sum to about 1")
      .example([](const ExampleShape& s) {
        return -std::log(static_cast<double>(std::max<int64_t>(1, s.kv_len)));
      });
  v.summary("each weight is the sigmoid of its own score: sigmoid attention");
  v.source(
      "Ramapuram et al. 2024, Theory, Analysis, and Best Practices for Sigmoid Self-Attention, "
      "arXiv:2409.04431");
  v.family("normaliser");
  v.note(
      "the published bias is -ln n; it is a parameter here, so that it can stay that of training");
  v.score([=](Expr s, Position) { return s + bias; });
  v.normalize(sigmoid());
}
