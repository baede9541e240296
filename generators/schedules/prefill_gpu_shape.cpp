// prefill_gpu_shape.cpp: which tiles fit into shared memory, and what a tile asks of the pipeline.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/row.h>
#include <fovea/registry.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "generators/schedules/prefill_gpu.h"
#include "generators/schedules/shared_layout.h"

namespace fovea {
namespace {

// Neighbouring features of a thread: from shared memory it reads as many at once as the widest
// instruction has, so that neighbouring threads read what fills the banks; from where values lie
// one, so that they read neighbours.
int feature_run(const PrefillGpuSchedule& s) {
  return s.stage_values ? std::gcd(s.feature_group, whole_vector) : 1;
}

// Calls in a declaration that a predicate is true of.
template <typename Predicate>
int count_calls(const Halide::Expr& e, const Predicate& counts) {
  struct Count : Halide::Internal::IRGraphVisitor {
    using Halide::Internal::IRGraphVisitor::visit;
    explicit Count(const Predicate& p) : is_counted(p) {}
    void visit(const Halide::Internal::Call* op) override {
      if (is_counted(op)) ++number;
      Halide::Internal::IRGraphVisitor::visit(op);
    }
    const Predicate& is_counted;
    int number = 0;
  } count(counts);
  e.accept(&count);
  return count.number;
}

// Bytes of the small arrays that variants differ by. Those that are short-lived may take the places
// of larger ones, which then get places of their own.
int small_arrays(const Variant& variant, int value_row_bytes) {
  // Bounds of what tables hold for keys are kept for some blocks.
  const int reads = count_calls(variant.mask(), [](const Halide::Internal::Call* op) {
    return std::string_view(op->name).starts_with(table_prefix) && op->type.is_int_or_uint() &&
           Halide::Internal::expr_uses_var(op, "k");
  });
  int reductions = 0;
  for (const Halide::Expr& step : variant.value_steps()) {
    reductions += count_calls(step, [](const Halide::Internal::Call* op) {
      return op->name == row_calls::sum || op->name == row_calls::largest;
    });
  }
  const size_t steps = variant.query_steps().size() + variant.key_steps().size() +
                       variant.value_steps().size() + variant.output_steps().size();
  return 512 * reads + 256 * static_cast<int>(steps) + (reductions > 0 ? value_row_bytes : 0);
}

void require_rule(bool holds, const char* name, int value, const std::string& rule) {
  if (!holds)
    throw std::invalid_argument(fmt::format("schedule parameter {} is {}: {}", name, value, rule));
}

}  // namespace

PrefillGpuSchedule first_that_fits(std::span<const GridTileShape> shapes, const Variant& variant,
                                   int d_qk, int d_v, CacheKind cache, int most_bytes) {
  PrefillGpuSchedule s;
  s.feature_group = largest_power_of_two(d_v, 8);
  const auto bytes = [&] {
    const int rows = score_rows(s), keys = s.key_block();
    const int state =
        state_rows(s) * (d_v / s.feature_group) * (s.feature_group + 2) * variant.slice_count();
    const int key_rows = s.stage_keys ? d_qk * (keys + key_padding(s)) : 0;
    const int value_rows = s.stage_values ? (d_v + whole_vector) * keys : 0;
    // Scores, weights and values take places that keys or scores had before them, whole and partly
    // visible blocks the same ones; weights may take that of terms of the distance instead, and
    // make it as large. The rest: sums and flags.
    const int terms = variant.score_steps().empty() ? 0 : rows * keys;
    const int numbers = query_rows(s) * d_qk + state +
                        2 * variant.slice_count() * std::max({key_rows, value_rows, rows * keys}) +
                        terms + 8 * (rows + keys);
    // Slots and pages, of both kinds of blocks.
    const int places = is_cache(cache) ? 2 * 8 * keys * variant.slice_count() : 0;
    return 4 * numbers + places + 1024 + small_arrays(variant, 4 * value_rows);
  };
  for (const GridTileShape& shape : shapes) {
    s.row_threads = shape.row_threads;
    s.row_tile = shape.row_tile;
    s.key_threads = shape.key_threads;
    s.key_tile = shape.key_tile;
    s.stage_keys = shape.stage_keys;
    s.stage_values = shape.stage_values;
    if (bytes() <= most_bytes) break;
  }
  return s;
}

PrefillGpuSchedule default_prefill_gpu_schedule(const Variant& variant, int d_qk, int d_v,
                                                CacheKind cache) {
  constexpr GridTileShape shapes[] = {{8, 4, 8, 4, true, true},    {8, 4, 8, 3, true, true},
                                      {4, 4, 8, 4, true, true},    {4, 4, 8, 2, true, true},
                                      {4, 4, 8, 2, true, false},   {4, 4, 8, 2, false, false},
                                      {4, 2, 8, 2, false, false},  {4, 1, 8, 2, false, false},
                                      {2, 1, 16, 1, false, false}, {1, 1, 32, 1, false, false}};
  return first_that_fits(shapes, variant, d_qk, d_v, cache, shared_memory_bytes);
}

void check(const PrefillGpuSchedule& s, int d_v) {
  require_rule(s.row_threads >= 1 && s.row_threads <= 64, "row_threads", s.row_threads, "1 to 64");
  require_rule(s.key_threads >= 1 && s.key_threads * s.row_threads <= 1024, "key_threads",
               s.key_threads, "1 and more, with row_threads at most 1024 threads");
  require_rule(s.row_tile >= 1 && s.row_tile <= 16, "row_tile", s.row_tile, "1 to 16");
  require_rule(s.key_tile >= 1 && s.key_tile <= 16, "key_tile", s.key_tile, "1 to 16");
  require_rule(s.feature_group >= 1 && s.feature_group <= 16 && d_v % s.feature_group == 0,
               "feature_group", s.feature_group,
               fmt::format("1 to 16 and a divisor of d_v = {}", d_v));
}

AttentionTiling tiling(const PrefillGpuSchedule& s, Element element, int d_qk, int d_v,
                       CacheKind cache) {
  AttentionTiling t;
  t.element = element;
  t.d_qk = d_qk;
  t.d_v = d_v;
  t.block_rows = t.item_rows = s.block_rows();
  t.key_block = s.key_block();
  t.feature_group = s.feature_group;
  t.cache = cache;
  t.grid = true;
  t.feature_run = feature_run(s);
  // What a thread reads at once of numbers in few bits shares a scale and a shift.
  if (is_quantised(cache) && s.wide_reads) t.vector_lanes = FOVEA_WIDE_READ;
  return t;
}

}  // namespace fovea
