// setup.h: the description of one attention call.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_SETUP_H
#define FOVEA_TESTS_SUPPORT_SETUP_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strided_tensor.h"
#include "test_kernel.h"

namespace fovea::test {

// Where a call's scratch memory comes from.
enum class Workspace { None, Exact };

struct CallSetup {
  int64_t batch = 1, heads = 1, kv_heads = 1, q_rows = 1, kv_rows = 1;
  Layout q, k, v, out, lse, row_max, row_sum, probabilities;
  bool packed = false;  // q, k and v interleaved in one array [b, s, heads of q, k, v, d]
  bool wants_lse = true, wants_row_max = false, wants_row_sum = false, wants_probabilities = false;
  // Rows past the lengths do not exist in memory, though the extents count them.
  bool unreadable_tail = false;
  std::vector<int32_t> q_len, kv_len, q_offset;  // empty: NULL
  std::optional<float> scale;
  float spread = 1;  // standard deviation of q and k
  int32_t threads = 1;
  Workspace workspace = Workspace::None;

  int64_t q_len_of(int64_t b) const { return q_len.empty() ? q_rows : q_len[b]; }
  int64_t kv_len_of(int64_t b) const { return kv_len.empty() ? kv_rows : kv_len[b]; }
  int64_t q_offset_of(int64_t b) const {
    return q_offset.empty() ? kv_len_of(b) - q_len_of(b) : q_offset[b];
  }
  std::string text() const;
};

// One sequence, dense.
CallSetup plain_setup(int64_t q_rows, int64_t kv_rows, int64_t heads = 1, int64_t kv_heads = 1);

// Wants all that the variant returns.
void want_all_outputs(CallSetup& setup, const TestKernel& kernel);

// Lengths around the blocks of the kernel, batches, grouped heads, layouts, offsets and scales of
// every kind, within a bound of work.
CallSetup random_setup(const TestKernel& kernel, Random& random, int64_t most_products = 1000000);
void random_layouts(CallSetup& setup, const TestKernel& kernel, Random& random);

}  // namespace fovea::test

#endif
