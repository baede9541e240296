// A library table whose kernels record what they are given instead of computing attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/registry.h>
#include <fovea/fovea.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::test {

// What one kernel invocation saw.
struct Seen {
  int kernel;  // index into the library's kernels
  int32_t q_block, q_offset, q_len, kv_len, batch, head, kv_head;
  float scale;
  int32_t rows, k_rows, v_rows, q_stride, k_stride, v_stride, out_stride, lse_stride;
  const void *q, *k, *v, *out, *lse, *row_max, *row_sum, *probabilities;
  bool scratch_ok;  // the scratch it asked for was there, aligned and nobody else wrote to it
  float softcap;    // parameters of variant `full`
  int32_t window;
  std::vector<int32_t> slope,
      bias;  // dimension, extent, stride, extent, stride, … of the table buffers
  const void* slope_data;
  // Of variant `every`: the buffer of probabilities and those of the tables, in order.
  int32_t row_max_stride, row_sum_stride;
  std::vector<int32_t> probabilities_shape;
  std::vector<std::vector<int32_t>> tables;
  int32_t allowed_type[2];  // code, bits
};

void forget_seen();
std::vector<Seen> seen();

// Kernels return this code for the item (block, batch, head) asked for; 0: none fails.
void fail_at(int32_t q_block, int32_t batch, int32_t head, int code);

// Parameters of variant `full`.
struct FullParams {
  float softcap;      // above 0
  int32_t window;     // 1 to 1000
  fovea_table slope;  // [query head]
  fovea_table bias;   // [query position, key position]
  fovea_table extra;  // [any, fixed 3, batch, KV head]
};

// Parameters of variant `every`, which returns every output, from two slices: tables with one axis
// of each of the other kinds.
struct EveryParams {
  fovea_table position, row, feature, value_feature;
  fovea_table allowed;  // of bool: [query row, key position]
};

enum Variant : int32_t { kPlain = 0, kFull = 1, kEvery = 2 };
enum Kernel : int {
  kPlainSse41,
  kPlainAvx2,
  kPlainAvx512,
  kPlainNarrow,
  kPlainF16,
  kFullSse41,
  kEverySse41
};

constexpr int32_t kBlockRows = 8;
constexpr size_t kScratchBytes = 1000;

// The targets x86-sse41 and x86-avx2 run anywhere, x86-avx512 needs a feature that no CPU has.
fovea_library_info fake_library();

// How often the library's own pool was used, and with how many tasks the last time.
int pool_calls();
int pool_tasks();

// A valid call of a variant with its memory. d_qk is 4, d_v as well, but 2 for `every`. Every field
// may be changed before run().
struct Attention {
  explicit Attention(Variant which = kPlain, int64_t b = 2, int64_t hq = 4, int64_t hkv = 2,
                     int64_t sq = 20, int64_t skv = 12);
  Attention(const Attention&) = delete;

  fovea_status run();
  size_t workspace();
  fovea_status explain(std::string* text);

  Variant variant;
  fovea_library_info library;
  int64_t d_v;
  std::vector<float> q, k, v, out, lse, row_max, row_sum, probabilities;
  std::vector<float> slope, bias, extra;
  float scale = 0.5F;
  std::vector<int32_t> q_len, kv_len, q_offset;
  std::vector<float> position, row, feature, value_feature;
  std::vector<unsigned char> allowed;
  FullParams params = {};
  EveryParams every = {};
  const void* params_pointer;
  Exec exec;
  Call call;
};

}  // namespace fovea::test
