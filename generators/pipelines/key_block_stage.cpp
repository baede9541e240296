// key_block_stage.cpp: scores, weights and weighted values of one block of keys.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/math.h"
#include "generators/pipelines/prefill_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace prefill_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

// Every tile of a block is computed whole; past the end it repeats the last key, and the mask hides
// it.
Expr key_row(const PrefillContext& c, const Expr& key, bool clamped) {
  return clamped ? Halide::min(key, c.inputs.kv_len - 1) : key;
}

RowChain make_rows(const PrefillContext& c, const std::string& name, bool clamped,
                   const std::vector<Expr>& transforms, const Halide::ImageParam& in, int size) {
  const Expr key = key_row(c, block * c.tiling.key_block + j, clamped);
  const RowLayout layout{{d, j, block}, 0, size};
  return make_row_chain(name, transforms, layout, c.binder().bind("k", key),
                        [&](std::vector<Expr> at) {
                          return in(at[0], key_row(c, at[2] * c.tiling.key_block + at[1], clamped));
                        });
}

// Reads entry `feature` of key j, transformed or as it is stored.
Expr row_entry(const PrefillContext& c, RowChain& chain, const Halide::ImageParam& in, bool clamped,
               const Expr& feature, const Expr& key) {
  if (!chain.steps.empty()) return chain.steps.back().row(feature, key, block);
  return in(feature, key_row(c, block * c.tiling.key_block + key, clamped));
}

}  // namespace

RowChain make_key_rows(const PrefillContext& c, const std::string& name, bool clamped) {
  return make_rows(c, name, clamped, c.variant.key_steps(), c.inputs.k, c.tiling.d_qk);
}

Expr score_at(const PrefillContext& c, const Expr& product, const Expr& row, const Expr& key) {
  if (c.variant.score_steps().empty()) return product;
  const Expr chain = c.variant.score_chain();
  const Expr score = c.binder_at(row, key).bind("score", product).mutate(chain);
  return may_lose_nan(chain) ? keep_nan(product, score) : score;
}

Expr visible_at(const PrefillContext& c, const Expr& row, const Expr& key) {
  return key < c.inputs.kv_len && c.binder_at(row, key).mutate(c.variant.mask());
}

KeyBlockStage make_key_block_stage(const PrefillContext& c, const std::string& name,
                                   const Func& query, const std::vector<EntryBounds>& row_entries,
                                   int slice, bool partial) {
  const int bk = c.tiling.key_block, slice_size = c.tiling.d_qk / c.variant.slice_count();
  const Expr first_key = block * bk;
  KeyBlockStage s;
  s.keys = make_key_rows(c, "keys_" + name, partial);
  s.values =
      make_rows(c, "values_" + name, partial, c.variant.value_steps(), c.inputs.v, c.tiling.d_v);
  s.features = RDom(slice * slice_size, slice_size, "features_" + name);
  s.max_keys = RDom(0, bk, "max_keys_" + name);
  s.sum_keys = RDom(0, bk, "sum_keys_" + name);
  s.value_keys = RDom(0, bk, "value_keys_" + name);
  if (partial) {
    // Passes over the keys stop at the first and last key that some row of the tile sees.
    for (RDom* keys : {&s.max_keys, &s.sum_keys, &s.value_keys}) {
      const Expr k = first_key + *keys;
      keys->where(k < c.inputs.kv_len &&
                  tile_condition(c, c.status.live_key, row_entries, block, k));
    }
  }
  const Expr visible = partial ? visible_at(c, qi, first_key + j) : Expr();

  Func query_rows = query;
  s.product = Func("product_" + name);
  s.product(qi, j, block) = 0.0f;
  s.product(qi, j, block) +=
      query_rows(qi, s.features) * row_entry(c, s.keys, c.inputs.k, partial, s.features, j);
  s.score = Func("score_" + name);
  Expr score = score_at(c, s.product(qi, j, block), qi, first_key + j);
  if (c.softmax && c.natural_units) score = score * log2_e;
  // A weight function is not asked about hidden keys; its scores need no mark.
  s.score(qi, j, block) = partial && c.softmax ? Halide::select(visible, score, mask_score) : score;

  s.weight = Func("weight_" + name);
  Expr weight;
  if (c.softmax) {
    s.maximum = Func("maximum_" + name);
    s.maximum(qi, block) = mask_score;
    s.maximum(qi, block) = Halide::max(s.maximum(qi, block), s.score(qi, s.max_keys, block));
    weight = exp2_nonpositive(s.score(qi, j, block) - s.maximum(qi, block));
  } else {
    const Expr given = s.score(qi, j, block);
    weight = keep_nan(
        given, c.binder_at(qi, first_key + j).bind("score", given).mutate(c.variant.weight()));
  }
  s.weight(qi, j, block) = partial ? c.marked(visible, weight) : weight;

  s.sum = Func("sum_" + name);
  s.sum(qi, block) = 0.0f;
  const Expr summand = s.weight(qi, s.sum_keys, block);
  s.sum(qi, block) += partial ? Halide::select(c.is_visible(summand), summand, 0.0f) : summand;

  Func carried = s.weight;
  if (c.variant.weight_factor().defined()) {
    const Expr whole = s.weight(qi, j, block);
    const Expr product = whole * c.binder_at(qi, first_key + j).mutate(c.variant.weight_factor());
    s.carried = Func("carried_" + name);
    s.carried(qi, j, block) = partial ? c.marked(c.is_visible(whole), product) : product;
    carried = s.carried;
  }

  s.weighted = Func("weighted_" + name);
  s.weighted(qi, d, block) = 0.0f;
  const Expr factor = carried(qi, s.value_keys, block), before = s.weighted(qi, d, block);
  const Expr after = before + factor * row_entry(c, s.values, c.inputs.v, partial, d, s.value_keys);
  s.weighted(qi, d, block) = partial ? Halide::select(c.is_visible(factor), after, before) : after;
  s.block_out = Func("block_out_" + name);
  s.block_out(qi, d, block) = s.weighted(qi, d, block);

  s.loop = make_block_loop(c, name, row_entries, partial);
  return s;
}

}  // namespace fovea
