// dense_bias.cpp: a bias of any shape as a tensor.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(dense_bias, v) {
  auto bias = v.table<float>("bias", {axis::batch, axis::head, axis::row, axis::key});
  bias.describe("(batch, head, query row, key): added to the scaled score; -infinity hides the key")
      .example(example::scattered(-1, 1));
  v.summary("any bias, as a tensor");
  v.source(
      "PyTorch scaled_dot_product_attention's float attn_mask; AlphaFold, Jumper et al. 2021 (pair "
      "bias)");
  v.family("dense");
  v.note("stride 0 shares the bias among batches, heads or rows");
  v.score([=](Expr s, Position p) { return s + bias(p.batch, p.head, p.row, p.k); });
  v.returns(lse);
}
