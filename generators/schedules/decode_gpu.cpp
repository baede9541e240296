// decode_gpu.cpp: blocks, threads and storage of the decode pass on a GPU.
//
// Assumes what prefill_gpu.cpp does. SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/decode_gpu.h"

#include <fmt/format.h>

#include <stdexcept>

#include "generators/schedules/grid_threads.h"

namespace fovea {
namespace {

using Halide::Func;
using Halide::LoopLevel;
using Halide::Var;

const Var qi("qi"), d("d"), number("number"), place("place"), item("item"), row("row"),
    head("head"), sequence("sequence");

// Threads of the finish: features along x, chunks along y.
PrefillGpuSchedule finish_threads() {
  PrefillGpuSchedule s;
  s.key_threads = 32;
  s.row_threads = total_places;
  s.row_tile = s.key_tile = 1;
  return s;
}

}  // namespace

DecodeGpuSchedule default_decode_gpu_schedule(const Variant& variant, int d_qk, int d_v,
                                              CacheKind cache) {
  constexpr GridTileShape shapes[] = {{4, 2, 16, 2, true, true},   {4, 2, 16, 1, true, true},
                                      {4, 2, 8, 2, true, true},    {4, 2, 8, 2, true, false},
                                      {4, 2, 8, 2, false, false},  {4, 1, 8, 2, false, false},
                                      {2, 1, 16, 1, false, false}, {1, 1, 32, 1, false, false}};
  constexpr int chunk_keys = 256;
  // Bound by memory: several blocks of a multiprocessor are to wait for it at once (5 of sm_80).
  constexpr int most_bytes = 32 * 1024 - 1024;
  DecodeGpuSchedule s;
  static_cast<PrefillGpuSchedule&>(s) =
      first_that_fits(shapes, variant, d_qk, d_v, cache, most_bytes);
  // Threads along x have groups of features of the values: as many groups as threads.
  while (s.feature_group > 1 && s.feature_group % 2 == 0 && d_v / s.feature_group < s.key_threads)
    s.feature_group /= 2;
  s.chunk_blocks = chunk_keys / s.key_block();
  return s;
}

void check(const DecodeGpuSchedule& s, int d_v) {
  check(static_cast<const PrefillGpuSchedule&>(s), d_v);
  if (s.chunk_blocks < 1 || s.chunk_blocks > 1024)
    throw std::invalid_argument(
        fmt::format("schedule parameter chunk_blocks is {}: 1 to 1024", s.chunk_blocks));
}

AttentionTiling finish_tiling(const DecodeGpuSchedule& s, Element element, int d_qk, int d_v) {
  AttentionTiling t = tiling(s, element, d_qk, d_v, CacheKind::None);
  t.block_rows = t.item_rows = 1;
  return t;
}

void schedule_grid_part(GridPart& p, const DecodeGpuSchedule& s, const GridLanguage& language) {
  Func out = p.records;
  const int softmax = p.states[0].partial.maximum.defined() ? 2 : 1;
  const int numbers = (p.tiling.d_v + softmax) * static_cast<int>(p.states.size());
  Halide::OutputImageParam buffer = out.output_buffer();
  for (int axis = 0; axis < 5; ++axis) buffer.dim(axis).set_min(0);
  buffer.dim(0).set_extent(numbers).set_stride(1);
  buffer.dim(1).set_extent(s.block_rows()).set_stride(numbers);
  buffer.dim(2).set_stride(numbers * s.block_rows());
  out.bound(number, 0, numbers)
      .bound(qi, 0, s.block_rows())
      .reorder(number, qi, item, head, sequence)
      .gpu_blocks(item, head, sequence);
  deal_out(out, {number, qi}, {}, s);
  out.never_partition_all();
  schedule_grid_tile(p, p.inputs, LoopLevel(out, item), s, language);
}

void schedule_grid_finish(GridFinish& p) {
  const PrefillGpuSchedule s = finish_threads();
  const int d_v = p.tiling.d_v;
  set_grid_bounds(p.grid, d_v);
  Func out = p.grid;
  out.bound(d, 0, d_v).reorder(d, row, head, sequence).gpu_blocks(row, head, sequence);
  deal_out(out, {d}, {}, s);
  out.never_partition_all();
  const LoopLevel level(out, row);
  for (GridFinish::Merge& m : p.merges) {
    const int numbers = d_v + (m.maximum.defined() ? 2 : 1);
    if (m.maximum.defined()) {
      m.some_maximum.bound(qi, 0, 1).bound(place, 0, max_places);
      share(m.some_maximum, level, {place, qi}, s);
      deal_out(m.some_maximum.update(), {place, qi}, {m.max_chunks.x}, s);
      m.maximum.bound(qi, 0, 1);
      share(m.maximum, level, {qi}, s);
      deal_out(m.maximum.update(), {qi}, {m.max_places.x}, s);
    }
    m.some_total.bound(number, 0, numbers).bound(qi, 0, 1).bound(place, 0, total_places);
    share(m.some_total, level, {number, qi, place}, s);
    deal_out(m.some_total.update(), {number, qi, place}, {m.chunks.x}, s);
    m.total.bound(number, 0, numbers).bound(qi, 0, 1);
    share(m.total, level, {number, qi}, s);
    deal_out(m.total.update(), {number, qi}, {m.places.x}, s);
  }
  share_reductions(p.finished.output_rows, level, qi, 1, false, s);
}

}  // namespace fovea
