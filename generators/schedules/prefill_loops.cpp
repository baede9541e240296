// prefill_loops.cpp: names are those of the Funcs, of the order of their definitions, and of the
// variables that prefill_cpu.cpp splits off.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/prefill_loops.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace fovea {
namespace {

// Stages and the loops over their blocks.
std::vector<std::pair<const KeyBlockStage*, std::string>> stages(const AttentionState& a,
                                                                 bool has_full) {
  std::vector<std::pair<const KeyBlockStage*, std::string>> all;
  const auto add = [&](const KeyBlockStage& stage) {
    all.emplace_back(&stage, fmt::format("{}.s{}.{}", a.state.name(), all.size() + 1,
                                         stage.loop.blocks.x.name()));
  };
  if (has_full) add(a.full);
  add(a.partial);
  return all;
}

void add_chain(TrimmedBlock& block, const RowChain& chain, int multiple) {
  for (const RowStep& step : chain.steps) {
    for (const RowStep::Reduction& r : step.reductions) {
      block.producers.push_back({r.f.name() + ".s0.j", multiple});
      block.producers.push_back({r.f.name() + ".s1.j", multiple});
    }
    block.producers.push_back({step.row.name() + ".s0.j", multiple});
  }
}

}  // namespace

std::vector<TrimmedBlock> trimmed_blocks(const PrefillPipeline& pipeline,
                                         const PrefillCpuSchedule& schedule) {
  std::vector<TrimmedBlock> blocks;
  for (const AttentionState& a : pipeline.states) {
    const auto [s, loop] = stages(a, pipeline.has_full).back();
    // What the keys that some row sees ask for.
    TrimmedBlock b{loop,
                   fmt::format("{}.s1.{}", s->sum.name(), s->sum_keys.x.name()),
                   s->weight.name(),
                   schedule.tile_rows(),
                   schedule.key_block,
                   {}};
    // Products are made a tile of keys at a time.
    const int tile = schedule.key_tile;
    add_chain(b, s->keys, tile);
    if (s->key_pairs.defined()) b.producers.push_back({s->key_pairs.name() + ".s0.j", tile});
    b.producers.push_back({s->score.name() + ".s0.j.jo", tile, tile});
    for (const Halide::Func& f : {s->weight, s->carried}) {
      if (f.defined()) b.producers.push_back({f.name() + ".s0.j"});
    }
    for (const DenseTile& dense : s->dense) {
      const int keys = schedule.key_block % schedule.lanes == 0 ? schedule.lanes : 1;
      b.producers.push_back({dense.columns.name() + ".s0.j.j", keys, keys});
    }
    // Values as numbers are for keys that are added one by one, the others are read in pairs.
    const bool pairs = s->weight_pairs.defined(), one_range = !s->value_keys_in_front.defined();
    const bool only_behind =
        pairs && !s->pairs_of_values && s->seen_value_keys.defined() && one_range;
    if (!only_behind) add_chain(b, s->values, 1);
    blocks.push_back(std::move(b));
    if (!pairs) continue;
    const Halide::RDom& of_pairs =
        s->seen_value_keys.defined() ? s->seen_value_keys : s->value_keys;
    blocks.push_back({loop,
                      fmt::format("{}.s1.{}", s->weighted.name(), of_pairs.x.name()),
                      s->weight_pairs.name(),
                      schedule.tile_rows(),
                      schedule.key_block / 2,
                      {{s->weight_pairs.name() + ".s0.j"}, {s->value_pairs.name() + ".s0.j"}}});
    if (!only_behind) continue;
    const Halide::Func& weight = s->carried.defined() ? s->carried : s->weight;
    TrimmedBlock behind{loop,
                        fmt::format("{}.s2.{}", s->weighted.name(), s->value_keys.x.name()),
                        weight.name(),
                        schedule.tile_rows(),
                        schedule.key_block,
                        {}};
    add_chain(behind, s->values, 1);
    blocks.push_back(std::move(behind));
  }
  return blocks;
}

std::vector<BlockLoopName> block_loops(const AttentionTile& tile) {
  std::vector<BlockLoopName> names;
  for (const AttentionState& a : tile.states) {
    for (const auto& [stage, loop] : stages(a, tile.has_full)) {
      names.push_back({loop, a.state.name(), stage->loop.by_status});
    }
  }
  return names;
}

}  // namespace fovea
