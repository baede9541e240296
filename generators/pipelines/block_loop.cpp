// block_loop.cpp: which key blocks a stage runs, from the tile status of the mask.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "generators/pipelines/prefill_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace prefill_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

// Blocks whose flags are computed at once.
constexpr int chunk_blocks = 64;

EntryBounds reduce_entry(std::string name, const std::vector<Halide::Var>& arguments,
                         const RDom& range, const Expr& entry) {
  std::replace(name.begin(), name.end(), '.', '_');  // which names of Funcs cannot hold
  EntryBounds b{Func(name + "_low"), Func(name + "_high"), range};
  const Expr value = Halide::cast<int32_t>(entry);
  b.low(arguments) = value.type().max();
  b.low(arguments) = Halide::min(b.low(arguments), value);
  b.high(arguments) = value.type().min();
  b.high(arguments) = Halide::max(b.high(arguments), value);
  return b;
}

bool uses_key_entries(const TileStatus& status, const Expr& condition) {
  for (const TileStatus::Bound& b : status.bounds) {
    if (b.of_keys && (ir::expr_uses_var(condition, b.low) || ir::expr_uses_var(condition, b.high)))
      return true;
  }
  return false;
}

}  // namespace

std::vector<EntryBounds> make_row_entries(const PrefillContext& c) {
  std::vector<EntryBounds> entries;
  for (const TileStatus::Bound& b : c.status.bounds) {
    if (b.of_keys) continue;
    const RDom rows(0, c.tiling.block_rows, "tile_rows");
    // Rows past the end repeat the last one.
    const Expr row = Halide::min(rows, c.inputs.q.dim(1).extent() - 1);
    entries.push_back(reduce_entry(b.low + "_rows", {}, rows, c.binder_at(row).mutate(b.entry)));
  }
  return entries;
}

Expr tile_condition(const PrefillContext& c, const Expr& condition,
                    const std::vector<EntryBounds>& row_entries, const Expr& k_block,
                    const Expr& key) {
  BindDeclaration bind = c.binder();
  bind.bind(TileStatus::q_first().as<ir::Variable>()->name, c.q_first)
      .bind(TileStatus::q_offset().as<ir::Variable>()->name, c.inputs.q_offset)
      .bind(TileStatus::k_block().as<ir::Variable>()->name, k_block);
  if (key.defined()) bind.bind("k", key);
  size_t next = 0;
  for (const TileStatus::Bound& b : c.status.bounds) {
    if (b.of_keys) continue;
    Func low = row_entries[next].low, high = row_entries[next].high;
    bind.bind(b.low, low()).bind(b.high, high());
    ++next;
  }
  return bind.mutate(condition);
}

Expr BlockLoop::block() const {
  return by_status ? Expr(blocks.y * chunk_blocks + blocks.x) : Expr(blocks.x);
}

BlockLoop make_block_loop(const PrefillContext& c, const std::string& name,
                          const std::vector<EntryBounds>& row_entries, bool partial) {
  const int bk = c.tiling.key_block;
  const Expr kv_len = c.inputs.kv_len, count = (kv_len + (bk - 1)) / bk;
  const auto is_mine = [&](const Expr& block_index, const Expr& live, const Expr& full) {
    const Expr whole =
        (block_index + 1) * bk <= kv_len && tile_condition(c, full, row_entries, block_index);
    return partial ? tile_condition(c, live, row_entries, block_index) && !whole : whole;
  };

  BlockLoop loop;
  loop.by_status =
      uses_key_entries(c.status, c.status.live) || uses_key_entries(c.status, c.status.full);
  if (!loop.by_status) {
    loop.blocks = RDom(0, count, "blocks_" + name);
    loop.blocks.where(is_mine(loop.blocks.x, c.status.live, c.status.full));
    return loop;
  }

  // Bounds of the entries over the keys of each block, then the flags, then the loop.
  const Expr here = chunk * chunk_blocks + in_chunk;
  std::map<std::string, Expr> bounds;
  for (const TileStatus::Bound& b : c.status.bounds) {
    if (!b.of_keys) continue;
    const RDom keys(0, bk, "entry_keys_" + name);
    const Expr key = Halide::min(here * bk + keys, kv_len - 1);
    loop.key_entries.push_back(reduce_entry(b.low + "_" + name, {in_chunk, chunk}, keys,
                                            c.binder().bind("k", key).mutate(b.entry)));
    bounds[b.low] = loop.key_entries.back().low(in_chunk, chunk);
    bounds[b.high] = loop.key_entries.back().high(in_chunk, chunk);
  }
  const auto with_bounds = [&](const Expr& condition) { return ir::substitute(bounds, condition); };
  loop.status = Func("status_" + name);
  loop.status(in_chunk, chunk) = Halide::cast<uint8_t>(
      here < count && is_mine(here, with_bounds(c.status.live), with_bounds(c.status.full)));
  loop.blocks =
      RDom(0, chunk_blocks, 0, (count + (chunk_blocks - 1)) / chunk_blocks, "blocks_" + name);
  loop.blocks.where(loop.status(loop.blocks.x, loop.blocks.y) != Halide::cast<uint8_t>(0));
  return loop;
}

}  // namespace fovea
