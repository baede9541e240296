// prefill_gpu.h: the GPU schedule of the prefill pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_PREFILL_GPU_H
#define FOVEA_GENERATORS_SCHEDULES_PREFILL_GPU_H

#include <span>
#include <string>
#include <vector>

#include "generators/pipelines/prefill.h"

namespace fovea {

// A block of threads computes one block of query rows of one head of one sequence. What the threads
// share lies in shared memory: the query rows, the state, and of a block of keys its rows, scores
// and weights. A thread's own products stay in registers: row_tile x key_tile of queries and keys,
// row_tile x feature_group of weights and values.
struct PrefillGpuSchedule {
  int row_threads = 8;     // threads along the rows
  int row_tile = 4;        // rows of a thread
  int key_threads = 8;     // threads along the keys, and along groups of features
  int key_tile = 4;        // keys of a thread
  int feature_group = 8;   // features of a thread; divides d_v
  bool stage_keys = true;  // into shared memory; else every thread reads them where they lie
  bool stage_values = true;
  // Of what is staged a thread reads FOVEA_WIDE_READ bytes at once, where rows lie so that it can.
  bool wide_reads = true;

  int block_rows() const { return row_threads * row_tile; }
  int key_block() const { return key_threads * key_tile; }
  std::string text() const;
  PrefillGpuSchedule with(const std::string& text) const;
};

// Shared memory that every GPU has for a block without being asked for more.
inline constexpr int shared_memory_bytes = 48 * 1024;

struct GridTileShape {
  int row_threads, row_tile, key_threads, key_tile;
  bool stage_keys, stage_values;
};
// The schedule of the first shape whose tiles take at most so many bytes of shared memory; else of
// the last one.
PrefillGpuSchedule first_that_fits(std::span<const GridTileShape> shapes, const Variant& variant,
                                   int d_qk, int d_v, CacheKind cache, int most_bytes);

PrefillGpuSchedule default_prefill_gpu_schedule(const Variant& variant, int d_qk, int d_v,
                                                CacheKind cache);

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const PrefillGpuSchedule& schedule, int d_v);

AttentionTiling tiling(const PrefillGpuSchedule& schedule, Element element, int d_qk, int d_v,
                       CacheKind cache);

// What the language of a device can do.
struct GridLanguage {
  // A thread may read and write the state of its rows at once: PTX. Halide 21 fails to write OpenCL
  // C for selections between such vectors.
  bool vector_state;
  // Vectors may begin at any element: OpenCL's vload. In PTX they are aligned.
  bool unaligned_vectors;
};
inline constexpr GridLanguage ptx{true, false}, opencl_c{false, true};

// Applies the schedule. The pipeline must have been made with tiling(schedule, …).
void schedule_prefill(PrefillPipeline& pipeline, const PrefillGpuSchedule& schedule,
                      const GridLanguage& language);

// Queries and states of a tile, of this pass or of decode; level: a block of threads.
void schedule_grid_tile(AttentionTile& tile, const KernelInputs& inputs,
                        const Halide::LoopLevel& level, const PrefillGpuSchedule& schedule,
                        const GridLanguage& language);

}  // namespace fovea

#endif
