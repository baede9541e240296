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

}  // namespace

std::vector<TrimmedBlock> trimmed_blocks(const PrefillPipeline& pipeline,
                                         const PrefillCpuSchedule& schedule) {
  std::vector<TrimmedBlock> blocks;
  for (const AttentionState& a : pipeline.states) {
    const auto [s, loop] = stages(a, pipeline.has_full).back();
    TrimmedBlock b{loop,
                   fmt::format("{}.s1.{}", s->sum.name(), s->sum_keys.x.name()),
                   s->weight.name(),
                   schedule.tile_rows(),
                   schedule.key_block,
                   {}};
    const auto add_chain = [&b](const RowChain& chain, int multiple) {
      for (const RowStep& step : chain.steps) {
        for (const RowStep::Reduction& r : step.reductions) {
          b.producers.push_back({r.f.name() + ".s0.j", multiple});
          b.producers.push_back({r.f.name() + ".s1.j", multiple});
        }
        b.producers.push_back({step.row.name() + ".s0.j", multiple});
      }
    };
    // Products are made a tile of keys at a time.
    const int tile = schedule.key_tile;
    add_chain(s->keys, tile);
    if (s->key_pairs.defined()) b.producers.push_back({s->key_pairs.name() + ".s0.j", tile});
    b.producers.push_back({s->score.name() + ".s0.j.jo", tile, tile});
    for (const Halide::Func& f : {s->weight, s->carried}) {
      if (f.defined()) b.producers.push_back({f.name() + ".s0.j"});
    }
    add_chain(s->values, 1);
    blocks.push_back(std::move(b));
  }
  return blocks;
}

std::vector<BlockLoopName> block_loops(const PrefillPipeline& pipeline) {
  std::vector<BlockLoopName> names;
  for (const AttentionState& a : pipeline.states) {
    for (const auto& [stage, loop] : stages(a, pipeline.has_full)) {
      names.push_back({loop, a.state.name(), stage->loop.by_status});
    }
  }
  return names;
}

}  // namespace fovea
