// attention_tile.cpp: the running state of a tile. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/attention_tile.h"

#include <utility>

#include "generators/pipelines/feature_runs.h"
#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Type;

// Adds a block: all slots of a group in one update, so that a softmax computes the maximum and the
// two corrections once for the group and not once a feature.
void merge(const TileContext& c, Func& state, const KeyBlockStage& s) {
  const int features = c.tiling.feature_group;
  const Expr block = s.loop.block();
  Expr keep = 1.0f, add = 1.0f, new_max;
  if (c.softmax) {
    const Expr old_max = state(qi, features + 1, group), block_max = s.maximum(qi, block);
    new_max = Halide::max(old_max, block_max);
    keep = exp2_nonpositive(old_max - new_max);
    add = exp2_nonpositive(block_max - new_max);
  }
  std::vector<Expr> slots, values;
  for (int i = 0; i < features; ++i) {
    slots.emplace_back(i);
    values.push_back(state(qi, i, group) * keep +
                     s.block_out(qi, group * features + i, block) * add);
  }
  slots.emplace_back(features);
  values.push_back(state(qi, features, group) * keep + s.sum(qi, block) * add);
  if (c.softmax) {
    slots.emplace_back(features + 1);
    values.push_back(new_max);
  }
  state(qi, Halide::scatter(slots), group) = Halide::gather(values);
}

}  // namespace

std::vector<RowSums> AttentionTile::sums() const {
  const int features = tiling.feature_group;
  std::vector<RowSums> all;
  for (const AttentionState& a : states) {
    Func state = a.state;
    const bool softmax = a.partial.maximum.defined();
    all.push_back({[state, tiling_of_features = tiling](const Expr& feature) -> Expr {
                     const FeaturePlace at = place_of(tiling_of_features, feature);
                     return state(qi, at.slot, at.group);
                   },
                   state(qi, features, 0), softmax ? Expr(state(qi, features + 1, 0)) : Expr()});
  }
  return all;
}

void build_states(AttentionTile& tile, const TileContext& c, const Expr& start) {
  tile.has_full = !ir::is_const_zero(c.status.full);
  const int slices = c.variant.slice_count();
  for (int i = 0; i < slices; ++i) {
    const std::string suffix = slices > 1 ? "_" + std::to_string(i) : "";
    AttentionState a;
    a.state = Func("state" + suffix);
    a.state(qi, slot, group) = start;
    // The partial stage comes second, so that the row maximum is usually known when its exceptional
    // blocks arrive.
    if (tile.has_full) {
      a.full = make_key_block_stage(c, "full" + suffix, tile.query, i, false);
      merge(c, a.state, a.full);
    }
    a.partial = make_key_block_stage(c, "partial" + suffix, tile.query, i, true);
    merge(c, a.state, a.partial);
    tile.states.push_back(std::move(a));
  }
}

Expr state_without_keys(const TileContext& c) {
  return c.softmax ? Halide::select(slot == c.tiling.feature_group + 1, mask_score, 0.0f)
                   : Expr(0.0f);
}

std::vector<EntryBounds> bounds_of_rows(const TileContext& c, const Expr& last_row) {
  std::vector<EntryBounds> bounds;
  for (const TileStatus::Bound& b : c.status.bounds) {
    if (b.of_keys) continue;
    const RDom rows(0, c.tiling.block_rows, "tile_rows");
    const auto entry = [&](const Expr& row) {
      return c.binder_at(Halide::min(row, last_row)).mutate(b.entry);
    };
    if (!c.tiling.grid) {
      bounds.push_back(reduce_entry(b, "_rows", {}, rows, entry(rows)));
      continue;
    }
    Func entries(entry_name(b, "_of_rows"));
    entries(qi) = Halide::cast<int32_t>(entry(qi));
    bounds.push_back(reduce_entry(b, "_rows", {block}, rows, entries(rows)));
    bounds.back().entries = entries;
  }
  return bounds;
}

void bind_bounds(BindDeclaration& bind, const TileStatus& status,
                 const std::vector<EntryBounds>& row_entries) {
  size_t next = 0;
  for (const TileStatus::Bound& b : status.bounds) {
    if (b.of_keys) continue;
    const Halide::FuncRef both = row_entries[next].of_tile();
    bind.bind(b.low, both[0]).bind(b.high, both[1]);
    ++next;
  }
}

Expr still_used(const AttentionTile& tile, const Expr& never, const Expr& value) {
  const Type type = value.type();
  Expr sum = Halide::cast(type, 0);
  if (Func f = tile.query.scaled; f.defined())
    sum += Halide::cast(type, Halide::reinterpret<int32_t>(f(qi, 0)));
  for (const EntryBounds& e : tile.row_entries) {
    const Halide::FuncRef both = e.of_tile();
    sum += Halide::cast(type, both[0] + both[1]);
  }
  return Halide::select(never, sum, value);
}

}  // namespace fovea
