// compile_kernel.cpp: lowering, measuring the scratch a kernel needs, object code.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/compile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "generators/emit/device_programs.h"
#include "generators/emit/files.h"
#include "generators/lowering/aligned_reads.h"
#include "generators/lowering/block_conditions.h"
#include "generators/lowering/choose_body.h"
#include "generators/lowering/dot_pairs.h"
#include "generators/lowering/fence_barriers.h"
#include "generators/lowering/fetch_ahead.h"
#include "generators/lowering/grid_items.h"
#include "generators/lowering/lane_broadcasts.h"
#include "generators/lowering/register_tiles.h"
#include "generators/lowering/sum_lanes.h"
#include "generators/lowering/transpose_loads.h"
#include "generators/lowering/wide_offsets.h"
#include "generators/schedules/prefill_loops.h"
#include "generators/schedules/prefill_tail.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// Adds up the allocations that lowering leaves on the heap. Storage on the stack is none of ours;
// anything whose size is not a constant would have to be allocated by guesswork, and is refused.
class ScratchMeter : public ir::IRVisitor {
 public:
  size_t bytes = 0;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Allocate* op) override {
    const int32_t elements = ir::Allocate::constant_allocation_size(op->extents, op->name);
    const bool constant = elements > 0 || op->extents.empty();
    if (!constant) {
      throw std::runtime_error(fmt::format(
          "storage of '{}' has no constant size; its schedule must bound every extent", op->name));
    }
    const auto size = static_cast<size_t>(elements) * static_cast<size_t>(op->type.bytes());
    const bool on_stack = op->memory_type == Halide::MemoryType::Stack ||
                          op->memory_type == Halide::MemoryType::Register ||
                          (op->memory_type == Halide::MemoryType::Auto &&
                           ir::can_allocation_fit_on_stack(static_cast<int64_t>(size)));
    // One vector more than the size: Halide pads allocations so that whole vectors can be read at
    // their end.
    if (!on_stack)
      bytes += (size + 2 * scratch_alignment - 1) / scratch_alignment * scratch_alignment +
               scratch_alignment;
    ir::IRVisitor::visit(op);
  }
};

struct Compiled {
  std::vector<Halide::Module> modules;
  KernelFacts facts;
};

size_t scratch_of(const Halide::Module& module) {
  ScratchMeter meter;
  for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&meter);
  return meter.bytes;
}

// One body of a prefill kernel. It computes the first block_rows() of `item_rows` rows.
struct PrefillBody {
  ir::LoweredFunc function;
  std::string query;  // the name of argument q
  bool any_strict_float = false;
  size_t scratch_bytes = 0;
  std::string tile_fallback;
};

PrefillBody lower_prefill_body(const Variant& variant, const KernelSpec& spec,
                               const PrefillCpuSchedule& schedule, int item_rows,
                               const std::string& symbol, const Halide::Target& target) {
  const Element element = element_of(spec.dtype);
  const CacheKind cache = cache_kind_of(spec.cache);
  check(schedule, variant, element, spec.d_qk, spec.d_v, cache);
  const TileStatus status = tile_status(variant, schedule.block_rows(), schedule.key_block);
  AttentionTiling sizes = tiling(schedule, element, spec.d_qk, spec.d_v, cache);
  sizes.item_rows = item_rows;
  PrefillPipeline pipeline = make_prefill(variant, sizes, status);
  schedule_prefill(pipeline, schedule);

  Halide::Pipeline halide(pipeline.outputs());
  SkipBlocks skip_blocks(block_loops(pipeline));
  TrimBlocks trim_blocks(trimmed_blocks(pipeline, schedule));
  ExpandDotPairs expand_dot_pairs;
  SeparateRegisterTiles register_tiles;
  TransposeLoads transpose_loads;
  LaneBroadcasts lane_broadcasts;
  WideOffsets wide_offsets;
  halide.add_custom_lowering_pass(&skip_blocks, nullptr);
  halide.add_custom_lowering_pass(&trim_blocks, nullptr);
  halide.add_custom_lowering_pass(&expand_dot_pairs, nullptr);
  halide.add_custom_lowering_pass(&register_tiles, nullptr);
  halide.add_custom_lowering_pass(&transpose_loads, nullptr);
  if (multiplies_by_lanes(target)) halide.add_custom_lowering_pass(&lane_broadcasts, nullptr);
  if (is_cache(cache)) halide.add_custom_lowering_pass(&wide_offsets, nullptr);
  const Halide::Module module = halide.compile_to_module(
      pipeline.inputs.arguments(), symbol, target, Halide::LinkageType::ExternalPlusArgv);
  return {module.get_function_by_name(symbol), pipeline.inputs.q.name(), module.any_strict_float(),
          scratch_of(module), status.fallback};
}

Compiled lower_prefill(const Variant& variant, const KernelSpec& spec,
                       const PrefillCpuSchedule& schedule, const std::string& symbol,
                       const Halide::Target& target) {
  const int item_rows = schedule.block_rows();
  const PrefillBody widest = lower_prefill_body(variant, spec, schedule, item_rows, symbol, target);
  Compiled compiled;
  compiled.facts.block_rows = item_rows;
  compiled.facts.scratch_bytes = widest.scratch_bytes;
  compiled.facts.tile_fallback = widest.tile_fallback;
  ir::LoweredFunc function = widest.function;
  // Without it code generation assumes that there is no NaN.
  bool any_strict_float = widest.any_strict_float;
  // Blocks that do not fill their rows run a narrower body; the narrowest one is asked first.
  for (auto tail = tail_body(schedule, spec.d_v); tail;
       tail = tail_body(tail->schedule, spec.d_v)) {
    const PrefillBody narrow =
        lower_prefill_body(variant, spec, tail->schedule, item_rows, symbol, target);
    function =
        choose_body(function, tail->serves(argument_extent(widest.query, 1)), narrow.function);
    any_strict_float = any_strict_float || narrow.any_strict_float;
    // One body runs in a call.
    compiled.facts.scratch_bytes = std::max(compiled.facts.scratch_bytes, narrow.scratch_bytes);
    if (compiled.facts.tile_fallback.empty()) compiled.facts.tile_fallback = narrow.tile_fallback;
  }
  Halide::Module module(symbol, target);
  module.append(function);
  module.set_any_strict_float(any_strict_float);
  compiled.modules.push_back(module);
  return compiled;
}

// Bytes of shared memory that a block of threads takes.
class SharedMemoryMeter : public ir::IRVisitor {
 public:
  size_t bytes = 0;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Allocate* op) override {
    if (op->memory_type == Halide::MemoryType::GPUShared) {
      const int32_t elements = ir::Allocate::constant_allocation_size(op->extents, op->name);
      if (elements <= 0)
        throw std::runtime_error(
            fmt::format("shared memory of '{}' has no constant size", op->name));
      bytes += static_cast<size_t>(elements) * static_cast<size_t>(op->type.bytes());
    }
    ir::IRVisitor::visit(op);
  }
};

// Looks at a statement as it stands between two lowering passes.
class LookAt : public ir::IRMutator {
 public:
  explicit LookAt(ir::IRVisitor& visitor) : visitor_(visitor) {}
  ir::Stmt mutate(const ir::Stmt& s) override {
    s.accept(&visitor_);
    return s;
  }
  using ir::IRMutator::mutate;

 private:
  ir::IRVisitor& visitor_;
};

// The outputs of a grid, as one launch; returns the shared memory of a block of threads.
size_t lower_grid(Compiled& compiled, Halide::Pipeline halide,
                  const std::vector<Halide::Argument>& arguments, const std::string& symbol,
                  const Halide::Target& target, std::vector<BlockLoopName> loops,
                  GridItems grid_items, AlignedReads aligned_reads = {{}, "", false}) {
  BlockConditions block_conditions(std::move(loops));
  FenceBarriers fence_barriers;
  SharedMemoryMeter meter;
  LookAt measure(meter);
  WideOffsets wide_offsets;  // finds something only where there is a cache
  halide.add_custom_lowering_pass(&wide_offsets, nullptr);
  halide.add_custom_lowering_pass(&block_conditions, nullptr);
  halide.add_custom_lowering_pass(&grid_items, nullptr);
  halide.add_custom_lowering_pass(&aligned_reads, nullptr);
  halide.add_custom_lowering_pass(&fence_barriers, nullptr);
  halide.add_custom_lowering_pass(&measure, nullptr);
  compiled.modules.push_back(with_programs_named(
      halide.compile_to_module(arguments, symbol, target, Halide::LinkageType::ExternalPlusArgv),
      symbol));
  if (meter.bytes > shared_memory_bytes)
    throw std::runtime_error(
        fmt::format("a block of threads takes {} bytes of shared memory; allowed is {}",
                    meter.bytes, shared_memory_bytes));
  return meter.bytes;
}

const GridLanguage& language_of(const Halide::Target& target) {
  return target.has_feature(Halide::Target::CUDA) ? ptx : opencl_c;
}

AlignedReads reads_of_rows(const KernelInputs& in, const Halide::Target& target) {
  return {{in.q.name(), in.k.name(), in.v.name()},
          in.wide_reads.name(),
          target.has_feature(Halide::Target::CUDA)};
}

// Of outputs, the scalars with the elements at which they begin.
void add_output_starts(GridItems::Starts& starts, const Halide::Func& grid,
                       const std::vector<Halide::Param<int64_t>>& scalars) {
  for (size_t i = 0; i < scalars.size(); ++i) {
    const std::string part = scalars.size() > 1 ? fmt::format(".{}", i) : "";
    starts[grid.name() + part] = scalars[i].name();
  }
}

void add_cache_starts(GridItems::Starts& starts, const CacheInputs& cache) {
  if (!is_cache(cache.kind)) return;
  starts[cache.pages.name()] = cache.pages_start.name();
  if (!is_quantised(cache.kind)) return;
  starts[cache.k_scale.name()] = cache.k_scale_start.name();
  starts[cache.v_scale.name()] = cache.v_scale_start.name();
}

Compiled lower_prefill(const Variant& variant, const KernelSpec& spec,
                       const PrefillGpuSchedule& schedule, const std::string& symbol,
                       const Halide::Target& target) {
  check(schedule, spec.d_v);
  const TileStatus status = tile_status(variant, schedule.block_rows(), schedule.key_block());
  const AttentionTiling sizes =
      tiling(schedule, element_of(spec.dtype), spec.d_qk, spec.d_v, cache_kind_of(spec.cache));
  PrefillPipeline pipeline = make_prefill(variant, sizes, status);
  schedule_prefill(pipeline, schedule, language_of(target));
  const PrefillInputs& in = pipeline.inputs;
  GridItems::Starts starts = {{in.q.name(), in.q_start.name()},
                              {in.k.name(), in.k_start.name()},
                              {in.v.name(), in.v_start.name()}};
  add_output_starts(starts, pipeline.grid, in.output_starts);
  add_cache_starts(starts, in.cache);
  Compiled compiled;
  compiled.facts.shared_bytes = lower_grid(
      compiled, Halide::Pipeline(pipeline.outputs()), in.arguments(), symbol, target,
      block_loops(pipeline),
      GridItems({{in.q_block.name()}, {in.head.name()}, {in.batch.name(), in.sequence.name()}},
                starts),
      reads_of_rows(in, target));
  compiled.facts.block_rows = schedule.block_rows();
  compiled.facts.threads = schedule.row_threads * schedule.key_threads;
  compiled.facts.tile_fallback = status.fallback;
  return compiled;
}

Compiled lower_decode(const Variant& variant, const KernelSpec& spec,
                      const DecodeGpuSchedule& schedule, const std::string& symbol,
                      const Halide::Target& target) {
  check(schedule, spec.d_v);
  const Element element = element_of(spec.dtype);
  const int rows = schedule.block_rows();
  const TileStatus status = grid_part_status(variant, rows, schedule.key_block());
  const AttentionTiling sizes =
      tiling(schedule, element, spec.d_qk, spec.d_v, cache_kind_of(spec.cache));
  Compiled compiled;
  KernelFacts& facts = compiled.facts;

  GridPart part = make_grid_part(variant, sizes, status, schedule.chunk_blocks);
  schedule_grid_part(part, schedule, language_of(target));
  const GridPartInputs& in = part.inputs;
  GridItems::Starts part_starts = {{in.q.name(), in.q_start.name()},
                                   {in.k.name(), in.k_start.name()},
                                   {in.v.name(), in.v_start.name()},
                                   {part.records.name(), in.records_start.name()}};
  add_cache_starts(part_starts, in.cache);
  facts.shared_bytes = lower_grid(
      compiled, Halide::Pipeline({part.records}), in.arguments(), part_symbol(symbol, rows), target,
      block_loops(part),
      GridItems({{in.item.name()}, {in.kv_head.name()}, {in.batch.name(), in.sequence.name()}},
                part_starts),
      reads_of_rows(in, target));

  const AttentionTiling of_finish = finish_tiling(schedule, element, spec.d_qk, spec.d_v);
  GridFinish finish = make_grid_finish(variant, of_finish, rows);
  schedule_grid_finish(finish);
  const GridFinishInputs& fin = finish.inputs;
  GridItems::Starts starts = {{fin.records.name(), fin.records_start.name()}};
  add_output_starts(starts, finish.grid, fin.output_starts);
  const size_t finish_bytes = lower_grid(
      compiled, Halide::Pipeline({finish.grid}), fin.arguments(), finish_symbol(symbol), target, {},
      GridItems({{fin.row.name()}, {fin.head.name()}, {fin.batch.name(), fin.sequence.name()}},
                starts));
  facts.shared_bytes = std::max(facts.shared_bytes, finish_bytes);
  facts.threads = schedule.row_threads * schedule.key_threads;
  facts.tile_rows = {rows};
  facts.block_rows = rows;
  facts.tile_fallback = status.fallback;
  facts.key_block = schedule.key_block();
  facts.chunk_blocks = schedule.chunk_blocks;
  facts.record_lanes = record_numbers(variant, sizes);
  facts.record_slots = variant.slice_count();
  facts.record_groups = 1;
  return compiled;
}

Compiled lower_decode(const Variant& variant, const KernelSpec& spec,
                      const DecodeCpuSchedule& schedule, const std::string& symbol,
                      const Halide::Target& target) {
  const Element element = element_of(spec.dtype);
  check(schedule);
  const TileStatus status = tile_status(variant, 1, schedule.key_block);
  const auto tiling_of = [&](int rows) {
    return tiling(schedule, variant, element, spec.d_qk, spec.d_v, rows, cache_kind_of(spec.cache));
  };
  Compiled compiled;
  KernelFacts& facts = compiled.facts;
  const auto add = [&](Halide::Pipeline halide, const std::vector<Halide::Argument>& arguments,
                       const std::string& name) {
    compiled.modules.push_back(
        halide.compile_to_module(arguments, name, target, Halide::LinkageType::ExternalPlusArgv));
    facts.scratch_bytes = std::max(facts.scratch_bytes, scratch_of(compiled.modules.back()));
  };
  for (const int rows : schedule.tile_rows()) {
    DecodePart part = make_decode_part(variant, tiling_of(rows), status);
    schedule_decode_part(part, schedule);
    Halide::Pipeline halide({part.records});
    SkipBlocks skip_blocks(block_loops(part));
    SeparateRegisterTiles register_tiles;
    LaneBroadcasts lane_broadcasts;
    WideOffsets wide_offsets;
    halide.add_custom_lowering_pass(&skip_blocks, nullptr);
    halide.add_custom_lowering_pass(&register_tiles, nullptr);
    ExpandDotPairs expand_dot_pairs;
    if (schedule.dot_pairs) halide.add_custom_lowering_pass(&expand_dot_pairs, nullptr);
    SumLanes sum_lanes;
    if (target.arch == Halide::Target::X86) halide.add_custom_lowering_pass(&sum_lanes, nullptr);
    if (multiplies_by_lanes(target)) halide.add_custom_lowering_pass(&lane_broadcasts, nullptr);
    if (is_cache(cache_kind_of(spec.cache)))
      halide.add_custom_lowering_pass(&wide_offsets, nullptr);
    FetchAhead fetch_ahead({part.inputs.k.name(), part.inputs.v.name()});
    if (schedule.prefetch_blocks > 0) halide.add_custom_lowering_pass(&fetch_ahead, nullptr);
    add(halide, part.inputs.arguments(), part_symbol(symbol, rows));
  }
  const AttentionTiling one_row = tiling_of(1);
  DecodeFinish finish = make_decode_finish(variant, one_row);
  schedule_decode_finish(finish);
  add(Halide::Pipeline(finish.outputs()), finish.inputs.arguments(), finish_symbol(symbol));
  DecodeRange range = make_decode_range(variant, one_row, status);
  schedule_decode_range(range);
  add(Halide::Pipeline({range.range}), range.arguments(), range_symbol(symbol));

  facts.tile_rows = schedule.tile_rows();
  facts.block_rows = facts.tile_rows.back();
  facts.tile_fallback = status.fallback;
  facts.key_block = schedule.key_block;
  facts.chunk_blocks = schedule.chunk_blocks;
  facts.record_lanes = one_row.value_lanes;
  facts.record_slots = record_slots(variant, one_row) * variant.slice_count();
  facts.record_groups = record_groups(one_row);
  facts.range_of_head = range.of_head;
  return compiled;
}

Compiled lower_append(const Variant& variant, const KernelSpec& spec,
                      const AppendCpuSchedule& schedule, const std::string& symbol,
                      const Halide::Target& target) {
  check(schedule);
  AppendPipeline pipeline = make_append(variant, {element_of(spec.dtype), cache_kind_of(spec.cache),
                                                  spec.d_qk, spec.d_v, schedule.block_rows});
  schedule_append(pipeline, schedule);
  Compiled compiled;
  compiled.modules.push_back(Halide::Pipeline(pipeline.outputs())
                                 .compile_to_module(pipeline.inputs.arguments(), symbol, target,
                                                    Halide::LinkageType::ExternalPlusArgv));
  compiled.facts.block_rows = schedule.block_rows;
  compiled.facts.scratch_bytes = scratch_of(compiled.modules[0]);
  return compiled;
}

Compiled lower_append(const Variant& variant, const KernelSpec& spec,
                      const AppendGpuSchedule& schedule, const std::string& symbol,
                      const Halide::Target& target) {
  check(schedule);
  AppendGrid grid = make_append_grid(
      variant, {element_of(spec.dtype), cache_kind_of(spec.cache), spec.d_qk, spec.d_v, 0});
  schedule_append(grid, schedule);
  const AppendGridInputs& in = grid.inputs;
  GridItems::Starts starts = {{in.k_new.name(), in.k_new_start.name()},
                              {in.v_new.name(), in.v_new_start.name()},
                              {in.cache.pages.name(), in.cache.pages_start.name()}};
  std::vector<Halide::Func> outputs;
  for (size_t i = 0; i < grid.outputs.size(); ++i) {
    outputs.push_back(grid.outputs[i].f);
    starts[outputs.back().name()] = in.places[i].start.name();
  }
  Compiled compiled;
  compiled.facts.shared_bytes = lower_grid(compiled, Halide::Pipeline(outputs), in.arguments(),
                                           symbol, target, {}, GridItems({{}, {}, {}}, starts));
  compiled.facts.threads = schedule.threads;
  compiled.facts.block_rows = 1;
  return compiled;
}

Compiled lower(const Variant& variant, const KernelSpec& spec, const KernelSchedule& schedule,
               const std::string& symbol, const Halide::Target& target) {
  if (const auto* prefill = std::get_if<PrefillCpuSchedule>(&schedule))
    return lower_prefill(variant, spec, *prefill, symbol, target);
  if (const auto* prefill = std::get_if<PrefillGpuSchedule>(&schedule))
    return lower_prefill(variant, spec, *prefill, symbol, target);
  if (const auto* decode = std::get_if<DecodeCpuSchedule>(&schedule))
    return lower_decode(variant, spec, *decode, symbol, target);
  if (const auto* decode = std::get_if<DecodeGpuSchedule>(&schedule))
    return lower_decode(variant, spec, *decode, symbol, target);
  if (const auto* append = std::get_if<AppendGpuSchedule>(&schedule))
    return lower_append(variant, spec, *append, symbol, target);
  return lower_append(variant, spec, std::get<AppendCpuSchedule>(schedule), symbol, target);
}

}  // namespace

std::string part_symbol(const std::string& symbol, int rows) {
  return fmt::format("{}_part{}", symbol, rows);
}

const char* assembly_extension(const TargetRow& target) {
  if (!target.is_device()) return ".s";
  return std::string_view(target.architecture) == "cuda" ? ".ptx" : ".cl";
}

std::string finish_symbol(const std::string& symbol) { return symbol + "_finish"; }

std::string range_symbol(const std::string& symbol) { return symbol + "_range"; }

KernelFacts compile_kernel(const Variant& variant, const KernelSpec& spec,
                           const KernelSchedule& schedule, const std::string& symbol,
                           const std::string& object_path, const ByProducts& by_products) {
  const TargetRow* row = find_target(spec.target);
  if (!row) throw std::invalid_argument(fmt::format("unknown target '{}'", spec.target));
  const Halide::Target target = kernel_target(*row);
  const Compiled compiled = lower(variant, spec, schedule, symbol, target);

  std::map<Halide::OutputFileType, std::string> files = {
      {Halide::OutputFileType::object, object_path}};
  const std::filesystem::path folder = std::filesystem::path(object_path).parent_path();
  const std::string stem = (folder / kernel_name(spec)).string();
  if (by_products.assembly && !row->is_device())
    files[Halide::OutputFileType::assembly] = stem + assembly_extension(*row);
  if (by_products.assembly && row->is_device()) {
    // A program for each launch.
    for (size_t i = 0; i < compiled.modules.size(); ++i) {
      write_if_changed(stem + (i == 0 ? "" : "_finish") + assembly_extension(*row),
                       program_text(compiled.modules[i]));
    }
  }
  if (by_products.statement) files[Halide::OutputFileType::stmt] = stem + ".stmt";
  if (compiled.modules.size() == 1) {
    compiled.modules[0].compile(files);
  } else {
    // Linking forgets that some arithmetic is strict: all of it would be compiled as if there were
    // no NaN.
    Halide::Module linked = Halide::link_modules(symbol, compiled.modules);
    linked.set_any_strict_float(true);
    linked.compile(files);
  }
  return compiled.facts;
}

}  // namespace fovea
