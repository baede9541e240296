// SPDX-License-Identifier: Apache-2.0
#include "chunks.h"

namespace fovea::detail {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t keys_of_chunk(const fovea_decode_info& info) {
  return int64_t{info.key_block} * info.chunk_blocks;
}

int32_t clamp(int64_t value, int32_t low, int32_t high) {
  return static_cast<int32_t>(value < low ? low : value > high ? high : value);
}

}  // namespace

Chunks chunks_of(const Problem& problem, int64_t b, Blocks range, const fovea_decode_info& info) {
  if (range.begin >= range.end) return {0, 0, 0, 0};
  const int32_t first = range.begin / info.chunk_blocks;
  const auto end = static_cast<int32_t>(ceil_div(range.end, info.chunk_blocks));
  if (!problem.has_ring()) return {first, end, end, end};
  const Ring ring = ring_of(problem.cache, keys_of(problem, b));
  const int32_t hole_begin = clamp(ceil_div(ring.sinks, keys_of_chunk(info)), first, end);
  return {first, end, hole_begin, clamp(ring.begin / keys_of_chunk(info), hole_begin, end)};
}

Blocks blocks_of(const Problem& problem, int64_t b, Blocks range, int32_t chunk,
                 const fovea_decode_info& info) {
  Blocks blocks = {chunk * info.chunk_blocks, (chunk + 1) * info.chunk_blocks};
  if (blocks.begin < range.begin) blocks.begin = range.begin;
  if (blocks.end > range.end) blocks.end = range.end;
  if (!problem.has_ring()) return blocks;
  const Ring ring = ring_of(problem.cache, keys_of(problem, b));
  Blocks left = blocks;
  if (int64_t{blocks.begin} * info.key_block >= ring.sinks)
    left.begin = clamp(ring.begin / info.key_block, blocks.begin, blocks.end);
  if (int64_t{blocks.end} * info.key_block <= ring.begin)
    left.end = clamp(ceil_div(ring.sinks, info.key_block), blocks.begin, blocks.end);
  return left.begin < left.end ? left : blocks;
}

int64_t most_chunks(const Problem& problem, int64_t keys, const fovea_decode_info& info) {
  const int64_t chunk_keys = keys_of_chunk(info);
  if (!problem.has_ring()) return ceil_div(keys, chunk_keys);
  const fovea_cache& cache = problem.cache;
  return ceil_div(cache.ring_sinks, chunk_keys) + ceil_div(cache.ring_window - 1, chunk_keys) + 1;
}

}  // namespace fovea::detail
