// key_block_stage.cpp: scores, weights and weighted values of one block of keys.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/key_block_stage.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generators/lowering/fetch_ahead.h"
#include "generators/pipelines/dense_tables.h"
#include "generators/pipelines/feature_runs.h"
#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

// Of rows without transforms there are none.
RowChain make_rows(const TileContext& c, const std::string& name,
                   const std::vector<Expr>& transforms, const BlockRows& rows) {
  const Expr key = key_row(c, block, j, rows.clamped());
  const RowLayout layout{{d, j, block}, 0, rows.size()};
  return make_row_chain(name, transforms, layout, c.binder().bind("k", key),
                        [&](std::vector<Expr> at) { return rows.number(at[0], at[1], at[2]); });
}

// Rows as a chain of one step: every element is needed once for each vector of query rows, and is
// widened, or fetched, once.
RowChain widened_rows(const std::string& name, const BlockRows& rows) {
  RowStep step;
  step.row = Func(name);
  step.row(d, j, block) = rows.and_ahead(rows.number(d, j, block), d, j, block);
  return {{step}};
}

// Of a range, the keys of pairs that lie in it whole; a pair begins with an even key.
KeyRange whole_pairs(const KeyRange& range) {
  return {(range.first + 1) / 2 * 2, (range.last + 1) / 2 * 2 - 1};
}

// Entry `feature` of key j after all transforms, in f32.
Expr row_entry(RowChain& chain, const BlockRows& rows, const Expr& feature, const Expr& key) {
  if (!chain.steps.empty()) return chain.steps.back().row(feature, key, block);
  return rows.and_ahead(rows.number(feature, key, block), feature, key, block);
}

}  // namespace

QueryRows make_query_rows(const TileContext& c, RowChain& queries,
                          const std::function<Expr(std::vector<Expr>)>& stored) {
  const RowLayout layout{{qi, d}, 1, c.tiling.d_qk};
  queries = make_row_chain("queries", c.variant.query_steps(), layout, c.binder_at(qi), stored);
  const auto row = [&](const Expr& feature) {
    return queries.steps.empty() ? stored({qi, feature})
                                 : Expr(queries.steps.back().row(qi, feature));
  };
  QueryRows query;
  if (c.tiling.dot_pairs) {
    query.pairs = Func("query_pairs");
    query.pairs(qi, d) = pair_of_rounded(row(2 * d), row(2 * d + 1));
  } else {
    query.scaled = Func("query");
    query.scaled(qi, d) = row(d) * c.query_scale();
    if (c.tiling.product_rows > 1) {
      query.steps = Func("query_steps");
      query.steps(lane, qi, step) = query.scaled(qi, step * c.tiling.feature_lanes + lane);
    }
  }
  return query;
}

RowChain make_key_rows(const TileContext& c, const std::string& name, const BlockRows& rows) {
  return make_rows(c, name, c.key_steps(), rows);
}

Expr score_at(const TileContext& c, const Expr& product, BindDeclaration binder,
              const Expr& chain) {
  if (c.variant.score_steps().empty()) return product;
  const Expr score = binder.bind("score", product).mutate(chain);
  return may_lose_nan(c.variant.score_chain()) ? keep_nan(product, score) : score;
}

Expr visible_at(const TileContext& c, const Expr& row, const Expr& key) {
  return visible_at(c, key, c.binder_at(row, key), c.variant.mask());
}

Expr visible_at(const TileContext& c, const Expr& key, BindDeclaration binder, const Expr& mask) {
  const Expr seen = key < c.inputs.kv_len && binder.mutate(mask);
  return is_cache(c.tiling.cache) ? seen && c.inputs.cache.holds(key) : seen;
}

namespace {

class KeyBlockBuilder {
 public:
  KeyBlockBuilder(const TileContext& context, std::string name, bool partial)
      : c_(context),
        name_(std::move(name)),
        partial_(partial),
        // Decode computes all keys of a block; a ring may have given up any.
        tables_(context.variant),
        chain_(separated_(context.score_terms.rest)),
        mask_(separated_(context.variant.mask())),
        masked_(partial && (context.tiling.feature_lanes > 0 || is_cache(context.tiling.cache) ||
                            !ir::is_const_one(context.variant.mask()))),
        visible_() {
    s_.cached = make_cached_block(c_, name_, partial_);
    build_dense_tiles_();
    if (masked_) visible_ = visible_at(c_, key_(), binder_(), mask_);
  }

  KeyBlockStage build(const QueryRows& query, int slice) {
    build_product_(query, slice);
    build_score_();
    build_weight_();
    build_sum_();
    const BlockRows values = BlockRows::of_values(c_, partial_, s_.cached);
    build_weighted_values_(build_carried_(values), values);
    s_.loop = make_block_loop(c_, name_, partial_);
    return std::move(s_);
  }

 private:
  Func func_(const char* what) const { return Func(what + ("_" + name_)); }
  Expr first_key_() const { return block * c_.tiling.key_block; }
  Expr key_() const { return key_at(c_, block, j); }

  // Keys of the block, or of a partial one those between the first and the last that some row of
  // the tile sees; all of them where keys are vector lanes.
  RDom keys_(const char* what, const KeyRange& range) const {
    RDom keys(0, c_.tiling.key_block, what + ("_" + name_));
    if (partial_ && c_.tiling.feature_lanes == 0) {
      const Expr k = first_key_() + keys;
      keys.where(k < c_.inputs.kv_len &&
                 c_.tile_condition(range.condition(), TileContext::Rows::Any, block, k));
    }
    return keys;
  }
  RDom keys_(const char* what) const { return keys_(what, c_.status.live_keys); }

  // The pairs of a range that begins with an even key, or with the first one.
  RDom pairs_(const char* what, const KeyRange& range) const {
    RDom pairs(0, c_.tiling.key_block / 2, what + ("_" + name_));
    if (partial_) {
      const Expr k = first_key_() + 2 * pairs;
      pairs.where(k < c_.inputs.kv_len &&
                  c_.tile_condition(range.condition(), TileContext::Rows::Any, block, k));
    }
    return pairs;
  }

  RowChain rows_(const char* what, const std::vector<Expr>& transforms, const BlockRows& rows,
                 bool pairs) const {
    const std::string name = what + ("_" + name_);
    if (!transforms.empty()) return make_rows(c_, name, transforms, rows);
    // Of a grid they are what a block of threads shares.
    if (pairs || (!rows.is_narrow() && !c_.tiling.grid)) return {};
    return widened_rows(name, rows);
  }

  void build_product_(const QueryRows& query, int slice) {
    const bool pairs = c_.tiling.dot_pairs;
    const int size = c_.tiling.d_qk / c_.variant.slice_count() / (pairs ? 2 : 1);
    const BlockRows rows = BlockRows::of_keys(c_, partial_, s_.cached);
    s_.keys = rows_("keys", c_.key_steps(), rows, pairs);
    s_.features = RDom(slice * size, size, "features_" + name_);
    const RDom& f = s_.features;
    s_.product = func_("product");
    if (c_.tiling.feature_lanes > 0) {
      if (c_.tiling.row_lanes) {
        build_row_sums_(query, rows, slice * size, size);
      } else {
        build_lane_sums_(query, rows, slice * size, size);
      }
      return;
    }
    s_.product(qi, j, block) = 0.0f;
    if (!pairs) {
      s_.product(qi, j, block) += query.scaled(qi, f) * row_entry(s_.keys, rows, f, j);
    } else if (s_.keys.steps.empty()) {
      const auto stored = [&](const Expr& feature) { return rows.stored(feature, j, block); };
      s_.product(qi, j, block) +=
          dot_pair(query.pairs(qi, f), pair_of_stored(stored(2 * f), stored(2 * f + 1)));
    } else {
      const Func& row = s_.keys.steps.back().row;
      s_.key_pairs = func_("key_pairs");
      s_.key_pairs(d, j, block) = pair_of_rounded(row(2 * d, j, block), row(2 * d + 1, j, block));
      s_.product(qi, j, block) += dot_pair(query.pairs(qi, f), s_.key_pairs(f, j, block));
    }
  }

  // One sum of each half of the features, so that a few keys, whose addresses fit the registers,
  // have enough of them to hide the time that an addition takes.
  void build_row_sums_(const QueryRows& query, const BlockRows& rows, int first, int size) {
    const int halves = size % 2 == 0 ? 2 : 1;
    s_.features = RDom(first, size / halves, "features_" + name_);
    s_.lanes = RDom(0, halves, "lanes_" + name_);
    const Expr f = s_.features + lane * (size / halves);
    s_.lane_sums = func_("row_sums");
    // All lines of a row are asked for at once, and not with each of its features.
    const int line = line_bytes / stored_type(c_.tiling.element).bytes();
    Expr zero = 0.0f;
    for (int element = 2 * first; element < 2 * (first + size); element += line)
      zero = rows.and_ahead(zero, element, j, block);
    const auto stored = [&](const Expr& feature) { return rows.stored(feature, j, block); };
    s_.lane_sums(qi, lane, j, block) = zero;
    s_.lane_sums(qi, lane, j, block) +=
        dot_pair(query.pairs(qi, f), pair_of_stored(stored(2 * f), stored(2 * f + 1)));
    Expr product;
    for (int i = 0; i < halves; ++i) {
      const Expr sum = s_.lane_sums(qi, i, j, block);
      product = product.defined() ? product + sum : sum;
    }
    s_.product(qi, j, block) = product;
  }

  void build_lane_sums_(const QueryRows& query, const BlockRows& rows, int first, int size) {
    const int lanes = c_.tiling.feature_lanes;
    s_.features = RDom(0, size / lanes, "features_" + name_);
    s_.lanes = RDom(0, lanes, "lanes_" + name_);
    const Expr feature = first + s_.features * lanes + lane;
    // Pairs are numbered here, and not fused by the schedule, so that their sums lie next to each
    // other in a form that Halide sees through.
    const int tile = c_.tiling.block_rows, keys = c_.tiling.pair_keys;
    s_.lane_sums = func_("lane_sums");
    s_.lane_sums(lane, pair, vector, block) = 0.0f;
    const Expr row = pair % tile, key = vector * keys + pair / tile;
    if (c_.tiling.dot_pairs) {
      const Expr element = 2 * (first + s_.features * lanes) + lane;
      const Expr stored = stored_pair(rows.stored(element, key, block));
      s_.lane_sums(lane, pair, vector, block) +=
          rows.and_ahead(dot_pair(query.pairs(row, feature), stored), element, key, block);
    } else {
      const Expr factor = c_.tiling.product_rows > 1
                              ? query.steps(lane, row, first / lanes + s_.features)
                              : query.scaled(row, feature);
      s_.lane_sums(lane, pair, vector, block) += factor * row_entry(s_.keys, rows, feature, key);
    }
    s_.pair_sums = func_("pair_sums");
    s_.pair_sums(pair, vector, block) = 0.0f;
    s_.pair_sums(pair, vector, block) += s_.lane_sums(s_.lanes, pair, vector, block);
    s_.product(qi, j, block) =
        rows.with_scale(s_.pair_sums(j % keys * tile + qi, j / keys, block), j, block);
  }

  // What a CPU's tile gains; of a cache the keys of a block need not be neighbours.
  Expr separated_(const Expr& expression) {
    const bool rows_are_lanes = c_.tiling.feature_lanes == 0 && !c_.tiling.grid;
    return rows_are_lanes && !is_cache(c_.tiling.cache) ? tables_.mutate(expression) : expression;
  }

  void build_dense_tiles_() {
    for (const DenseTable& table : tables_.tables) {
      const std::string suffix = "_" + std::to_string(s_.dense.size());
      DenseTile tile;
      const auto entry_at = [&](const Expr& key) {
        BindDeclaration binder = c_.binder_at(qi);
        binder.bind_inside("k", first_key_() + key);
        const Expr entry = binder.mutate(table.entry);
        return entry.type().is_bool() ? Halide::cast<uint8_t>(entry) : entry;
      };
      const bool flag = table.entry.type().is_bool();
      tile.rows = Func(func_("dense_rows").name() + suffix);
      tile.rows(j, qi, block) = Halide::undef(flag ? Halide::UInt(8) : table.entry.type());
      const int lanes = dense_lanes_();
      tile.keys = dense_vectors_("dense_keys" + suffix, lanes);
      const Expr key = tile.keys.y * lanes + tile.keys.x;
      tile.rows(key, qi, block) = entry_at(key);
      if (partial_ && lanes > 1) {
        // Keys that fill no vector.
        const Expr left = Halide::min(c_.inputs.kv_len - first_key_(), c_.tiling.key_block);
        tile.last_keys = RDom(0, lanes - 1, "dense_last_keys" + suffix + "_" + name_);
        const Expr last = left / lanes * lanes + tile.last_keys;
        tile.last_keys.where(last < left);
        tile.rows(Halide::clamp(last, 0, c_.tiling.key_block - 1), qi, block) = entry_at(last);
      }
      tile.columns = Func(func_("dense").name() + suffix);
      tile.columns(qi, j, block) = tile.rows(j, qi, block);
      const Halide::Parameter& parameter =
          c_.inputs.parameters[static_cast<size_t>(table.parameter)];
      tile.side_by_side =
          ir::Variable::make(Halide::Int(32),
                             parameter.name() + ".stride." + std::to_string(table.key_axis),
                             parameter) == 1;
      const Expr at = tile.columns(qi, j, block);
      dense_entries_[table.symbol] = flag ? at != Halide::cast<uint8_t>(0) : at;
      s_.dense.push_back(std::move(tile));
    }
  }

  int dense_lanes_() const {
    return c_.tiling.key_block % c_.tiling.vector_lanes == 0 ? c_.tiling.vector_lanes : 1;
  }

  // Vectors of keys that some row sees, and of which none lies past the last.
  RDom dense_vectors_(const std::string& what, int lanes) const {
    RDom keys(0, lanes, 0, c_.tiling.key_block / lanes, what + "_" + name_);
    if (partial_) {
      const KeyRange& live = c_.status.live_keys;
      const Expr k = first_key_() + keys.y * lanes;
      keys.where(k + (lanes - 1) < c_.inputs.kv_len &&
                 c_.tile_condition(KeyRange{live.first - (lanes - 1), live.last}.condition(),
                                   TileContext::Rows::Any, block, k));
    }
    return keys;
  }

  // At a pair of the block.
  BindDeclaration binder_() const {
    BindDeclaration binder = c_.binder_at(qi, key_());
    for (const auto& [symbol, entry] : dense_entries_) binder.bind(symbol, entry);
    return binder;
  }

  // Terms of the score chain that depend on the distance alone, along the diagonals of the tile.
  // They get symbols' places in `binder`.
  void build_diagonals_(BindDeclaration& binder) {
    const int bk = c_.tiling.key_block;
    const Expr distance = c_.place(0).q - first_key_() + diagonal - (bk - 1);
    for (const DiagonalTerms::Term& term : c_.score_terms.terms) {
      Func f(func_("diagonal").name() + "_" + std::to_string(s_.diagonals.size()));
      f(diagonal, block) = c_.binder()
                               .bind(diagonal_distance().as<ir::Variable>()->name, distance)
                               .mutate(term.value);
      binder.bind(term.symbol, f(qi - j + (bk - 1), block));
      s_.diagonals.push_back(f);
    }
  }

  void build_score_() {
    Expr product = s_.product(qi, j, block);
    if (c_.tiling.dot_pairs) product = product * c_.query_scale();
    BindDeclaration binder = binder_();
    build_diagonals_(binder);
    Expr score = score_at(c_, product, binder, chain_);
    if (c_.softmax && c_.natural_units) score = score * log2_e;
    s_.score = func_("score");
    // A weight function is not asked about hidden keys; its scores need no mark.
    s_.score(qi, j, block) =
        masked_ && c_.softmax ? Halide::select(visible_, score, mask_score) : score;
  }

  void build_weight_() {
    Expr weight;
    const Expr score = s_.score(qi, j, block);
    if (c_.softmax) {
      s_.max_keys = keys_("max_keys");
      s_.maximum = func_("maximum");
      s_.maximum(qi, block) = mask_score;
      s_.maximum(qi, block) = Halide::max(s_.maximum(qi, block), s_.score(qi, s_.max_keys, block));
      weight = exp2_nonpositive(score - s_.maximum(qi, block));
    } else {
      weight = keep_nan(score,
                        c_.binder_at(qi, key_()).bind("score", score).mutate(c_.variant.weight()));
    }
    s_.weight = func_("weight");
    s_.weight(qi, j, block) = masked_ ? c_.marked(visible_, weight) : weight;
  }

  void build_sum_() {
    s_.sum_keys = keys_("sum_keys");
    s_.sum = func_(c_.tiling.grid ? "weights_sum" : "sum");
    s_.sum(qi, block) = 0.0f;
    const Expr weight = s_.weight(qi, s_.sum_keys, block);
    s_.sum(qi, block) += masked_ ? Halide::select(c_.is_visible(weight), weight, 0.0f) : weight;
  }

  // The weights that values are multiplied by.
  Func build_carried_(const BlockRows& values) {
    const Expr factor = c_.variant.weight_factor();
    if (!factor.defined() && !c_.tiling.scales_apart) return s_.weight;
    const Expr weight = s_.weight(qi, j, block);
    Expr product = weight;
    if (factor.defined()) product = product * c_.binder_at(qi, key_()).mutate(factor);
    product = values.with_scale(product, j, block);
    s_.carried = func_("carried");
    s_.carried(qi, j, block) = masked_ ? c_.marked(c_.is_visible(weight), product) : product;
    return s_.carried;
  }

  void build_weighted_values_(const Func& weight, const BlockRows& rows) {
    // Of a ring nobody sees what it has given up.
    const KeyRange &live = c_.status.live_keys, &full = c_.status.full_keys;
    const bool some_seen =
        !is_cache(c_.tiling.cache) && !ir::is_const_zero(ir::simplify(full.first <= full.last));
    // Keys of a partly visible block that every row sees are added without asking. Of a grid a
    // thread has few rows: three loops cost it more than the questions they save.
    const bool split = masked_ && c_.tiling.feature_lanes == 0 && some_seen && !c_.tiling.grid;
    // A pair holds the values of two keys. Where one of them may be hidden from a row, and be NaN,
    // they have to be added one by one.
    // Decode makes pairs of values where they serve many rows.
    const bool has_pairs =
        c_.tiling.dot_pairs && (c_.tiling.feature_lanes == 0 || c_.tiling.row_lanes);
    const bool pairs = has_pairs && (!masked_ || split);
    // Halide computes the producers of a Func in the order of their names, and shared memory is
    // dealt out in that order: values of a grid after the weights, in the place of the scores, and
    // only then the sum, which would take that place for a few numbers.
    s_.values = rows_(c_.tiling.grid ? "weighted_values" : "values", c_.value_steps(), rows,
                      pairs && !masked_);
    s_.weighted = func_("weighted");
    s_.weighted(qi, d, block) = 0.0f;
    const Expr before = s_.weighted(qi, d, block);
    const auto factor = [&](const RDom& key) { return weight(qi, key, block); };
    const Expr feature = feature_at(c_.tiling, d);
    const auto after = [&](const RDom& key) {
      return before + factor(key) * row_entry(s_.values, rows, feature, Expr(key));
    };
    const auto masked = [&](const RDom& key) {
      return Halide::select(c_.is_visible(factor(key)), after(key), before);
    };
    const auto after_pair = [&](const RDom& pair) {
      const Expr product =
          dot_pair(s_.weight_pairs(qi, pair, block), s_.value_pairs(d, pair, block));
      const auto [first, second] = keys_of_pair_(pair);
      return before + rows.and_ahead(rows.and_ahead(product, d, first, block), d, second, block);
    };
    if (pairs) build_pairs_(weight, rows);
    if (split) {
      const KeyRange seen = pairs ? whole_pairs(full) : full;
      s_.seen_value_keys = pairs ? pairs_("seen_value_keys", seen) : keys_("seen_value_keys", seen);
      s_.weighted(qi, d, block) =
          pairs ? after_pair(s_.seen_value_keys) : after(s_.seen_value_keys);
      // Before and behind them; the two parts must not overlap where there are none.
      const KeyRange in_front{live.first, Halide::min(live.last, seen.first - 1)},
          behind{Halide::max(live.first, Halide::max(seen.first, seen.last + 1)), live.last};
      if (!ir::can_prove(seen.first == live.first)) {
        s_.value_keys_in_front = keys_("value_keys_in_front", in_front);
        s_.weighted(qi, d, block) = masked(s_.value_keys_in_front);
      }
      s_.value_keys = keys_("value_keys", behind);
      s_.weighted(qi, d, block) = masked(s_.value_keys);
    } else if (pairs) {
      s_.value_keys = pairs_("value_keys", live);
      s_.weighted(qi, d, block) = after_pair(s_.value_keys);
    } else {
      s_.value_keys = keys_("value_keys");
      s_.weighted(qi, d, block) = masked_ ? masked(s_.value_keys) : after(s_.value_keys);
    }
    s_.block_out = func_("block_out");
    s_.block_out(qi, d, block) = s_.weighted(qi, d, block);
  }

  // Decode takes two keys that are half a block apart: vectors of weights are then not taken apart.
  std::pair<Expr, Expr> keys_of_pair_(const Expr& pair) const {
    if (c_.tiling.row_lanes) return {pair, pair + c_.tiling.key_block / 2};
    return {2 * pair, 2 * pair + 1};
  }

  void build_pairs_(const Func& weight, const BlockRows& rows) {
    const auto [first_key, second_key] = keys_of_pair_(j);
    // The last key of all may have no other beside it.
    const auto of_both = [&](const Expr& pair) {
      if (!partial_) return pair;
      const Expr has_second = first_key_() + 2 * j + 1 < c_.inputs.kv_len;
      return pair & Halide::select(has_second, Expr(0xffffffffu), Expr(0x0000ffffu));
    };
    s_.value_pairs = func_("value_pairs");
    s_.pairs_of_values = !c_.value_steps().empty();
    if (!s_.pairs_of_values) {
      const auto stored = [&](const Expr& key) { return rows.stored(d, key, block); };
      s_.value_pairs(d, j, block) = of_both(pair_of_stored(stored(first_key), stored(second_key)));
    } else {
      const Func& row = s_.values.steps.back().row;
      s_.value_pairs(d, j, block) =
          of_both(pair_of_rounded(row(d, first_key, block), row(d, second_key, block)));
    }
    const Expr first = weight(qi, first_key, block), second = weight(qi, second_key, block);
    s_.weight_pairs = func_("weight_pairs");
    s_.weight_pairs(qi, j, block) = of_both(
        c_.weights_have_signs() ? pair_of_rounded(first, second) : pair_of_weights(first, second));
  }

  const TileContext& c_;
  const std::string name_;
  const bool partial_;  // keys are cut down to those that some row sees
  SeparateDenseTables tables_;
  const Expr chain_, mask_;  // what is left of the score chain and of the mask
  const bool masked_;        // and not every row sees all of those
  Expr visible_;
  std::map<std::string, Expr> dense_entries_;  // by symbol
  KeyBlockStage s_;
};

}  // namespace

KeyBlockStage make_key_block_stage(const TileContext& c, const std::string& name,
                                   const QueryRows& query, int slice, bool partial) {
  return KeyBlockBuilder(c, name, partial).build(query, slice);
}

}  // namespace fovea
