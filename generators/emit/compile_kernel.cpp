// compile_kernel.cpp: lowering, measuring the scratch a kernel needs, object code.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/compile_kernel.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <stdexcept>

#include "generators/lowering/dot_pairs.h"
#include "generators/lowering/register_tiles.h"
#include "generators/lowering/transpose_loads.h"
#include "generators/schedules/prefill_loops.h"

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

}  // namespace

KernelFacts compile_kernel(const Variant& variant, const KernelSpec& spec,
                           const PrefillCpuSchedule& schedule, const std::string& symbol,
                           const std::string& object_path, const ByProducts& by_products) {
  const TargetRow* row = find_target(spec.target);
  if (!row) throw std::invalid_argument(fmt::format("unknown target '{}'", spec.target));
  const Element element = element_of(spec.dtype);
  check(schedule, variant, element, spec.d_qk, spec.d_v);

  const TileStatus status = tile_status(variant, schedule.block_rows(), schedule.key_block);
  PrefillPipeline pipeline =
      make_prefill(variant, tiling(schedule, element, spec.d_qk, spec.d_v), status);
  schedule_prefill(pipeline, schedule);

  const Halide::Target target = kernel_target(*row);
  Halide::Pipeline halide(pipeline.outputs());
  SkipBlocks skip_blocks(block_loops(pipeline));
  TrimBlocks trim_blocks(trimmed_blocks(pipeline, schedule));
  ExpandDotPairs expand_dot_pairs;
  SeparateRegisterTiles register_tiles;
  TransposeLoads transpose_loads;
  halide.add_custom_lowering_pass(&skip_blocks, nullptr);
  halide.add_custom_lowering_pass(&trim_blocks, nullptr);
  halide.add_custom_lowering_pass(&expand_dot_pairs, nullptr);
  halide.add_custom_lowering_pass(&register_tiles, nullptr);
  halide.add_custom_lowering_pass(&transpose_loads, nullptr);
  const Halide::Module module = halide.compile_to_module(
      pipeline.inputs.arguments(), symbol, target, Halide::LinkageType::ExternalPlusArgv);
  ScratchMeter meter;
  for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&meter);

  std::map<Halide::OutputFileType, std::string> files = {
      {Halide::OutputFileType::object, object_path}};
  const std::filesystem::path folder = std::filesystem::path(object_path).parent_path();
  const std::string stem = (folder / kernel_name(spec)).string();
  if (by_products.assembly) files[Halide::OutputFileType::assembly] = stem + ".s";
  if (by_products.statement) files[Halide::OutputFileType::stmt] = stem + ".stmt";
  module.compile(files);

  return {schedule.block_rows(), meter.bytes, status.fallback};
}

}  // namespace fovea
