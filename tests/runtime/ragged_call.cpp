// SPDX-License-Identifier: Apache-2.0
#include "ragged_call.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fovea::test {

RaggedCall::RaggedCall(const std::vector<Lengths>& lengths, fovea_cache_kind kind)
    : CachedCall(FOVEA_CACHE_SAME, Pages::kNone) {
  cu_q = cu_k = {kBefore};
  int32_t longest = 0;
  for (const Lengths& sequence : lengths) {
    cu_q.push_back(cu_q.back() + sequence.rows);
    cu_k.push_back(cu_k.back() + sequence.keys);
    keys.push_back(sequence.keys);
    longest = std::max(longest, sequence.keys);
  }
  const int64_t q_rows = cu_q.back() + kBefore, kv_rows = cu_k.back() + kBefore;
  ragged_q.assign(static_cast<size_t>(4 * q_rows * 32), 1);
  ragged_out.assign(ragged_q.size(), 0);
  const Shape rows = {1, 4, q_rows, 32};
  call.q = tensor(ragged_q.data(), rows);
  call.out = tensor(ragged_out.data(), rows);
  const auto batch = static_cast<int64_t>(lengths.size());
  if (kind == FOVEA_CACHE_NONE) {
    ragged_k.assign(static_cast<size_t>(2 * kv_rows * 32), 1);
    ragged_v = ragged_k;
    call.k = tensor(ragged_k.data(), {1, 2, kv_rows, 32});
    call.v = tensor(ragged_v.data(), {1, 2, kv_rows, 32});
    call.cache = nullptr;
    call.kv_len = nullptr;
    ragged = Ragged(batch, cu_q.data(), cu_k.data());
  } else {
    const int64_t columns = (longest + 7) / 8;
    for (int64_t i = 0; i < batch * columns; ++i) pages.push_back(static_cast<int32_t>(i));
    const Shape slots = {batch * columns, 2, 8, 32};
    ragged_k.assign(static_cast<size_t>(batch * columns * 2 * 8 * 32), 1);
    ragged_v = ragged_k;
    call.k = tensor(ragged_k.data(), slots);
    call.v = tensor(ragged_v.data(), slots);
    cache = paged_cache(pages.data(), columns);
    call.kv_len = keys.data();
    ragged = Ragged(batch, cu_q.data());
  }
  call.ragged = &ragged;
  forget_cached();
}

void RaggedCall::expect_every_row_once() const {
  const auto q_rows = static_cast<int32_t>(call.q.extent[2]);
  for (size_t i = 0; i < ragged_out.size(); ++i) {
    const auto row = static_cast<int32_t>(i / 32) % q_rows;
    ASSERT_EQ(ragged_out[i], row >= cu_q.front() && row < cu_q.back() ? 1.0F : 0.0F) << row;
  }
}

}  // namespace fovea::test
