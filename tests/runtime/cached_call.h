// A call with a cache, and a library whose kernels record what they are given of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/registry.h>
#include <fovea/fovea.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argument_reader.h"

namespace fovea::test {

// One invocation of a prefill kernel, or of a part of a decode kernel.
struct CachedSeen {
  fovea_pass pass;
  fovea_cache_kind cache;
  int32_t q_len, kv_len, q_offset, batch, kv_head;
  int32_t head, q_block;                      // prefill
  int32_t first_row, block_begin, block_end;  // decode
  BufferSeen q, k, v, k_scale, v_scale, out;  // out: of decode the records
  std::vector<int32_t> pages;
  int32_t page_shift, ring_sinks, ring_begin, ring_slot, ring_end, k_group_shift, v_group_shift;
  int32_t number;  // the variant's parameter, which follows the cache
};

void forget_cached();
std::vector<CachedSeen> cached_seen();
void fail_in(fovea_pass pass, int code);  // what kernels of the pass return from now on
int cached_finishes();                    // rows that a decode kernel has finished

constexpr int64_t kCachedDims = 32;
constexpr int32_t kCachedBlockRows = 4, kCachedKeyBlock = 4, kCachedChunkBlocks = 2;

enum class Pages { kNone, kTable };

struct CachedElement {
  fovea_dtype dtype;
  int64_t bits;
};
CachedElement cached_element(fovea_cache_kind kind);

// f32 queries with d = 32, 4 query and 2 KV heads, 2 sequences; the cache has 24 slots a sequence,
// in pages of 8 out of 7. The library has prefill and decode kernels for every kind of cache. Every
// field may be changed before run().
struct CachedCall {
  explicit CachedCall(fovea_cache_kind kind, Pages pages = Pages::kTable, int64_t rows = 3);
  CachedCall(const CachedCall&) = delete;

  fovea_status run();
  size_t workspace();
  std::string explain();

  std::vector<fovea_kernel_info> kernels;
  fovea_library_info library;
  std::vector<float> q, out, lse;
  std::vector<unsigned char> k, v, k_scale, v_scale;
  std::vector<int32_t> kv_len = {17, 9}, block_table = {5, 0, 2, 6, 1, -9};
  int32_t number = 77;
  Cache cache;
  Exec exec;
  Call call;
};

// A row of a table of checks: `spoil` makes of a valid call one that is refused with `status` and a
// message that holds all of `says`, before any kernel runs and with nothing written.
struct CacheRow {
  std::string name;
  fovea_cache_kind kind;
  Pages pages;
  std::function<void(CachedCall&)> spoil;
  fovea_status status;
  std::vector<std::string> says;
};

inline void PrintTo(const CacheRow& row, std::ostream* out) { *out << row.name; }

}  // namespace fovea::test
