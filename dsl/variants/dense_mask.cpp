// dense_mask.cpp: a mask of any shape as a tensor.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(dense_mask, v) {
  auto visible = v.table<bool>("visible", {axis::batch, axis::head, axis::row, axis::key});
  visible.describe("(batch, head, query row, key): true where the key is visible")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        const int64_t distance = i[2] + s.kv_len - s.q_len - i[3];
        return distance >= 0 && (distance < 64 || (i[2] * 7 + i[3] * 3) % 5 == 0) ? 1.0 : 0.0;
      });
  v.summary("any mask, as a tensor of bool");
  v.source("PyTorch scaled_dot_product_attention's boolean attn_mask; ONNX Attention");
  v.family("dense");
  v.note("true is visible, as in PyTorch's SDPA and unlike key_padding_mask");
  v.note(
      "stride 0 shares the mask among batches, heads or rows; nothing is skipped: prefer a formula "
      "where there is one");
  v.keep(masks::dense(visible));
  v.returns(lse);
}
