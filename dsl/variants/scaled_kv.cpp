// scaled_kv.cpp: keys and values with a scale for each row.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(scaled_kv, v) {
  auto key_scale = v.table<float>("key_scale", {axis::batch, axis::kv_head, axis::key});
  auto value_scale = v.table<float>("value_scale", {axis::batch, axis::kv_head, axis::key});
  key_scale.describe("(batch, KV head, key): what the key's entries are multiplied by")
      .example(example::scattered(0.5, 1.5));
  value_scale.describe("(batch, KV head, key): what the value's entries are multiplied by")
      .example(example::scattered(0.5, 1.5));
  v.summary("causal over keys and values stored with a scale per row: a quantised cache");
  v.source("per-token quantisation: Liu et al. 2024, KIVI, arXiv:2402.02750 (values); ExecuTorch");
  v.family("transform");
  v.note("one scale per row and head; groups of features would be a table with one more axis");
  v.key([=](const Row& row, Expr d, const Position& p) {
    return row(d) * key_scale(p.batch, p.kv_head, p.k);
  });
  v.value([=](const Row& row, Expr d, const Position& p) {
    return row(d) * value_scale(p.batch, p.kv_head, p.k);
  });
  v.keep(masks::causal());
  v.returns(lse);
}
