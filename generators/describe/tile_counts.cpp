// tile_counts.cpp: the conditions of the tile analysis, evaluated for one call.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/tile_counts.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "generators/describe/bound_parameters.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

constexpr int64_t most_counted_pairs = int64_t{1} << 24;

std::string name_of(const Expr& variable) { return variable.as<ir::Variable>()->name; }

// What the analysis says about the tiles of one call. The only place that knows of which
// expressions it consists.
class Conditions {
 public:
  Conditions(const TileStatus& status, BoundParameters& bound, const ExampleShape& shape)
      : status_(status),
        bound_(bound),
        q_offset_(shape.kv_len - shape.q_len),
        kv_len_(shape.kv_len),
        live_(ir::substitute_in_all_lets(status.live)),
        full_(ir::substitute_in_all_lets(status.full)) {}

  // After batch and head have been set: the bounds of entries over the keys of each block.
  void start_head() {
    bound_.set(name_of(TileStatus::q_offset()), q_offset_);
    const int64_t bk = status_.key_block, blocks = (kv_len_ + bk - 1) / bk;
    for (const TileStatus::Bound& b : status_.bounds) {
      if (!b.of_keys) continue;
      // Keys past the end repeat the last one, as in the kernel.
      std::vector<int64_t> keys(static_cast<size_t>(blocks * bk));
      for (size_t k = 0; k < keys.size(); ++k)
        keys[k] = std::min(static_cast<int64_t>(k), kv_len_ - 1);
      bound_.set("k", keys);
      const std::vector<int64_t> entries = bound_.integers(b.entry, keys.size());
      std::vector<int64_t> low, high;
      for (auto at = entries.begin(); at != entries.end(); at += bk) {
        low.push_back(*std::min_element(at, at + bk));
        high.push_back(*std::max_element(at, at + bk));
      }
      bound_.set(b.low, std::move(low));
      bound_.set(b.high, std::move(high));
    }
  }

  struct Row {
    std::vector<int64_t> live, full;
  };
  // For every key block, for the tile of these query rows.
  Row row(int64_t first_row, int64_t rows) {
    for (const TileStatus::Bound& b : status_.bounds) {
      if (b.of_keys) continue;
      std::vector<int64_t> queries;
      for (int64_t i = 0; i < rows; ++i) queries.push_back(q_offset_ + first_row + i);
      bound_.set("q", std::move(queries));
      const std::vector<int64_t> entries = bound_.integers(b.entry, static_cast<size_t>(rows));
      bound_.set(b.low, *std::min_element(entries.begin(), entries.end()));
      bound_.set(b.high, *std::max_element(entries.begin(), entries.end()));
    }
    const int64_t bk = status_.key_block;
    std::vector<int64_t> index(static_cast<size_t>((kv_len_ + bk - 1) / bk));
    std::iota(index.begin(), index.end(), int64_t{0});
    const size_t lanes = index.size();
    bound_.set(name_of(TileStatus::q_first()), q_offset_ + first_row);
    bound_.set(name_of(TileStatus::k_block()), std::move(index));
    return {bound_.integers(live_, lanes), bound_.integers(full_, lanes)};
  }

 private:
  const TileStatus& status_;
  BoundParameters& bound_;
  int64_t q_offset_, kv_len_;
  Expr live_, full_;
};

// Visible pairs of each key block of one tile, the mask evaluated for each pair.
std::vector<int64_t> visible_pairs(BoundParameters& bound, const Expr& mask, int64_t first_row,
                                   int64_t rows, const ExampleShape& shape, int64_t key_block) {
  const int64_t blocks = (shape.kv_len + key_block - 1) / key_block;
  std::vector<int64_t> count(static_cast<size_t>(blocks), 0);
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    bound.set("row", row);
    bound.set("q", row + shape.kv_len - shape.q_len);
    const auto visible = bound.integers(mask, static_cast<size_t>(shape.kv_len));
    for (size_t k = 0; k < visible.size(); ++k)
      count[k / static_cast<size_t>(key_block)] += visible[k] != 0;
  }
  return count;
}

class Counter {
 public:
  Counter(const Variant& variant, const TileStatus& status, const ParameterValues& values,
          const ExampleShape& shape)
      : bound_(variant, values),
        conditions_(status, bound_, shape),
        mask_(ir::substitute_in_all_lets(variant.mask())),
        shape_(shape) {
    counts_.block_rows = status.block_rows;
    counts_.key_block = status.key_block;
    // What does not depend on them is the same for all heads and sequences.
    const auto depends = [&](const char* name) {
      return ir::expr_uses_var(mask_, name) || ir::expr_uses_var(status.live, name) ||
             ir::expr_uses_var(status.full, name);
    };
    batches_ = depends("batch") ? shape.batch : 1;
    heads_ = depends("head") ? shape.heads : depends("kv_head") ? shape.kv_heads : 1;
    per_head_ = shape.batch * shape.heads / (batches_ * heads_);
    counts_.has_best = batches_ * heads_ * shape.q_len * shape.kv_len <= most_counted_pairs;
  }

  TileCounts run() {
    bound_.set("q_len", shape_.q_len);
    bound_.set("kv_len", shape_.kv_len);
    for (int64_t b = 0; b < batches_; ++b) {
      for (int64_t h = 0; h < heads_; ++h) head_(b, h);
    }
    return counts_;
  }

 private:
  void head_(int64_t b, int64_t h) {
    bound_.set("batch", b);
    // When only the KV head matters, h counts those.
    const bool counts_kv = heads_ == shape_.kv_heads && heads_ != shape_.heads;
    const int64_t group = shape_.heads / shape_.kv_heads;
    bound_.set("head", counts_kv ? h * group : h);
    bound_.set("kv_head", counts_kv ? h : h / group);
    conditions_.start_head();
    for (int64_t first = 0; first < shape_.q_len; first += counts_.block_rows) {
      tile_row_(first, std::min<int64_t>(counts_.block_rows, shape_.q_len - first));
    }
  }

  void tile_row_(int64_t first_row, int64_t rows) {
    const int64_t bk = counts_.key_block;
    const int64_t blocks = (shape_.kv_len + bk - 1) / bk;
    const Conditions::Row row = conditions_.row(first_row, rows);
    for (int64_t c = 0; c < blocks; ++c) {
      const auto i = static_cast<size_t>(c);
      // As the kernel has it: a block that ends after the last key is not run whole.
      const bool full = row.full[i] && (c + 1) * bk <= shape_.kv_len;
      counts_.tiles += per_head_;
      (full ? counts_.full : row.live[i] ? counts_.partial : counts_.skipped) += per_head_;
    }
    if (!counts_.has_best) return;
    const std::vector<int64_t> pairs =
        visible_pairs(bound_, keys_mask_(), first_row, rows, shape_, bk);
    for (int64_t c = 0; c < blocks; ++c) {
      const int64_t n = pairs[static_cast<size_t>(c)];
      (n == rows * bk ? counts_.best_full
       : n            ? counts_.best_partial
                      : counts_.best_skipped) += per_head_;
    }
  }

  // The mask, with k bound to every key.
  const Expr& keys_mask_() {
    std::vector<int64_t> keys(static_cast<size_t>(shape_.kv_len));
    std::iota(keys.begin(), keys.end(), int64_t{0});
    bound_.set("k", std::move(keys));
    return mask_;
  }

  TileCounts counts_;
  BoundParameters bound_;
  Conditions conditions_;
  Expr mask_;
  ExampleShape shape_;
  int64_t batches_ = 1, heads_ = 1, per_head_ = 1;
};

}  // namespace

TileCounts count_tiles(const Variant& variant, const TileStatus& status,
                       const ParameterValues& values, const ExampleShape& shape) {
  try {
    return Counter(variant, status, values, shape).run();
  } catch (const std::invalid_argument& unknown) {
    TileStatus all_partial = status;
    all_partial.live = ir::const_true();
    all_partial.full = ir::const_false();
    all_partial.bounds.clear();
    TileCounts counts = Counter(variant, all_partial, values, shape).run();
    counts.unknown = unknown.what();
    return counts;
  }
}

}  // namespace fovea
