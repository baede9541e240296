// block_loop.cpp: which key blocks a stage runs, from the tile status of the mask.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "generators/pipelines/key_block_stage.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

// Blocks whose flags are computed at once. Those of a grid lie in shared memory, beside the tiles.
int chunk_blocks(const AttentionTiling& tiling) { return tiling.grid ? 16 : 64; }

bool uses_key_entries(const TileStatus& status, const Expr& condition) {
  for (const TileStatus::Bound& b : status.bounds) {
    if (b.of_keys && (ir::expr_uses_var(condition, b.low) || ir::expr_uses_var(condition, b.high)))
      return true;
  }
  return false;
}

bool reads_funcs(const Expr& e) {
  struct Find : ir::IRGraphVisitor {
    using ir::IRGraphVisitor::visit;
    void visit(const ir::Call* op) override {
      found = found || op->call_type == ir::Call::Halide;
      ir::IRGraphVisitor::visit(op);
    }
    bool found = false;
  } find;
  e.accept(&find);
  return find.found;
}

// Of a grid: loops get their ends from what follows from positions alone; the rest is asked for
// each block.
void restrict_grid(RDom& blocks, const Expr& condition) {
  if (const auto* both = condition.as<ir::And>()) {
    restrict_grid(blocks, both->a);
    restrict_grid(blocks, both->b);
    return;
  }
  blocks.where(reads_funcs(condition) ? block_condition(condition) : condition);
}

void restrict_to(RDom& blocks, const Expr& condition, const AttentionTiling& tiling) {
  if (tiling.grid) {
    restrict_grid(blocks, condition);
  } else {
    blocks.where(condition);
  }
}

}  // namespace

Expr block_condition(const Expr& condition) {
  return ir::Call::make(Halide::Bool(), block_condition_name, {condition}, ir::Call::PureExtern);
}

std::string entry_name(const TileStatus::Bound& bound, const std::string& suffix) {
  std::string name = bound.low.substr(0, bound.low.rfind('.')) + suffix;
  std::replace(name.begin(), name.end(), '.', '_');  // which names of Funcs cannot hold
  return name;
}

EntryBounds reduce_entry(const TileStatus::Bound& bound, const std::string& suffix,
                         const std::vector<Halide::Var>& arguments, const RDom& range,
                         const Expr& entry) {
  EntryBounds b{Func(entry_name(bound, suffix)), range, {}};
  const Expr value = Halide::cast<int32_t>(entry);
  b.both(arguments) = {value.type().max(), value.type().min()};
  const Halide::FuncRef before = b.both(arguments);
  b.both(arguments) = {Halide::min(before[0], value), Halide::max(before[1], value)};
  return b;
}

Expr BlockLoop::block() const {
  const Expr at = by_status ? Expr(blocks.y * chunk_size + blocks.x) : Expr(blocks.x);
  return by_status && !ir::is_const_zero(first) ? first + at : at;
}

BlockLoop make_block_loop(const TileContext& c, const std::string& name, bool partial) {
  using Rows = TileContext::Rows;
  const int bk = c.tiling.key_block;
  const Expr kv_len = c.inputs.kv_len, first = c.first_block(), end = c.end_block();
  const Expr count = ir::is_const_zero(first) ? end : end - first;
  const auto is_mine = [&](const Expr& block_index, const Expr& live, const Expr& full) {
    const Expr first_key = block_index * bk, end_key = (block_index + 1) * bk;
    Expr whole = end_key <= kv_len && c.tile_condition(full, Rows::Every, block_index);
    Expr some = c.tile_condition(live, Rows::Any, block_index);
    if (is_cache(c.tiling.cache)) {
      whole = whole && c.inputs.cache.holds_all(first_key, end_key);
      some = some && c.inputs.cache.holds_any(first_key, end_key);
    }
    return partial ? some && !whole : whole;
  };

  BlockLoop loop;
  loop.first = first;
  loop.by_status =
      uses_key_entries(c.status, c.status.live) || uses_key_entries(c.status, c.status.full);
  if (!loop.by_status) {
    loop.blocks = RDom(first, count, "blocks_" + name);
    restrict_to(loop.blocks, is_mine(loop.blocks.x, c.status.live, c.status.full), c.tiling);
    return loop;
  }

  // Bounds of the entries over the keys of each block, then the flags, then the loop.
  loop.chunk_size = chunk_blocks(c.tiling);
  const Expr in_range = chunk * loop.chunk_size + in_chunk;
  const Expr here = ir::is_const_zero(first) ? in_range : first + in_range;
  std::map<std::string, Expr> bounds;
  for (const TileStatus::Bound& b : c.status.bounds) {
    if (!b.of_keys) continue;
    const RDom keys(0, bk, "entry_keys_" + name);
    const Expr key = Halide::min(here * bk + keys, kv_len - 1);
    loop.key_entries.push_back(reduce_entry(b, "_" + name, {in_chunk, chunk}, keys,
                                            c.binder().bind("k", key).mutate(b.entry)));
    const Halide::FuncRef both = loop.key_entries.back().both(in_chunk, chunk);
    bounds[b.low] = both[0];
    bounds[b.high] = both[1];
  }
  const auto with_bounds = [&](const Expr& condition) { return ir::substitute(bounds, condition); };
  loop.status = Func("status_" + name);
  loop.status(in_chunk, chunk) = Halide::cast<uint8_t>(
      here < end && is_mine(here, with_bounds(c.status.live), with_bounds(c.status.full)));
  loop.blocks = RDom(0, loop.chunk_size, 0, (count + (loop.chunk_size - 1)) / loop.chunk_size,
                     "blocks_" + name);
  restrict_to(loop.blocks, loop.status(loop.blocks.x, loop.blocks.y) != Halide::cast<uint8_t>(0),
              c.tiling);
  return loop;
}

}  // namespace fovea
