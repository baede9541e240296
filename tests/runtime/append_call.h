// An append with its cache, and a library whose kernels write what shows where a token went.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/registry.h>
#include <fovea/fovea.hpp>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "argument_reader.h"
#include "cached_call.h"

namespace fovea::test {

// One invocation of an append kernel.
struct AppendSeen {
  fovea_cache_kind cache;
  int32_t first_key, batch, kv_head;
  int32_t k_group_shift, v_group_shift, has_scales, number;
  BufferSeen k_new, v_new, k, v, k_scale, v_scale;
  int32_t rows() const { return k.shape[2]; }
};

void forget_appended();
std::vector<AppendSeen> appended();
void fail_append_with(int code);

constexpr int32_t kAppendBlockRows = 4;

// What an element of k (element 0) or v (100) of a token becomes: in f32 its own number, in other
// caches the byte, and in their scales the f16, that stands for the token.
float token_number(int64_t b, int64_t head, int64_t token, int64_t d);

struct AppendParams {
  int32_t window, number;
};

// f32 tokens with d = 32, 2 KV heads, 2 sequences of up to `tokens`; the cache is that of
// CachedCall, with 24 slots a sequence in pages of 8 out of 7.
struct AppendCall {
  explicit AppendCall(fovea_cache_kind kind = FOVEA_CACHE_SAME, Pages pages = Pages::kTable,
                      int64_t tokens = 7);
  AppendCall(const AppendCall&) = delete;

  fovea_status run();
  // The element of k or v that slot `slot` of sequence b has, and whether nothing was written
  // there.
  float f32_at(const std::vector<unsigned char>& memory, int64_t b, int64_t head, int64_t slot,
               int64_t d) const;
  static constexpr float kUntouched = -3;

  std::vector<fovea_kernel_info> kernels;
  fovea_library_info library;
  bool has_pages;
  std::vector<float> k_new, v_new;
  std::vector<unsigned char> k, v, k_scale, v_scale;
  std::vector<int32_t> kv_len = {10, 3}, new_len = {7, 5}, block_table = {5, 0, 2, 6, 1, -9};
  AppendParams params = {5, 77};
  Cache cache;
  Exec exec;
  fovea_append append = {};
};

struct AppendRow {
  std::string name;
  fovea_cache_kind kind;
  Pages pages;
  std::function<void(AppendCall&)> spoil;
  fovea_status status;
  std::vector<std::string> says;
};

inline void PrintTo(const AppendRow& row, std::ostream* out) { *out << row.name; }

}  // namespace fovea::test
