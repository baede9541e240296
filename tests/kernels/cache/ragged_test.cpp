// ragged_test.cpp: sequences of different lengths in one call, against a call for each of them.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/kernels/bank/bank.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test {
namespace {

// One kernel for both passes: sequences are computed by the one that fits them.
std::vector<TestKernel> kernels_with_both_passes(bool cached) {
  return kernels_where([&](const TestKernel& k) {
    const bool right_cache = (k.info().cache != FOVEA_CACHE_NONE) == cached;
    if (k.info().pass != FOVEA_PREFILL || !right_cache) return false;
    return !kernels_where([&](const TestKernel& other) {
              return other.library == k.library && other.info().variant == k.info().variant &&
                     other.info().target == k.info().target &&
                     other.info().cache == k.info().cache && other.info().pass == FOVEA_DECODE &&
                     other.dtype() == k.dtype() && other.info().d_qk == k.info().d_qk;
            }).empty();
  });
}

class RaggedTest : public bank::Bank {
 protected:
  static std::vector<int32_t> ends(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> sums = {0};
    for (const int32_t length : lengths) sums.push_back(sums.back() + length);
    return sums;
  }

  const std::vector<int32_t> rows_ = {1, 20, 0, 5, 33, 16, 17, 1, 70};
  const std::vector<int32_t> keys_ = {50, 300, 7, 0, 33, 129, 40, 513, 70};
  const int64_t sequences_ = static_cast<int64_t>(rows_.size());
};

class RaggedDense : public RaggedTest {};
FOVEA_FOR_KERNELS(RaggedDense, kernels_with_both_passes(false));
class RaggedCached : public RaggedTest {};
FOVEA_FOR_KERNELS(RaggedCached, kernels_with_both_passes(true));

// Rows of `t` from `first` on.
fovea_tensor rows_of(fovea_tensor t, int64_t first, int64_t count) {
  t.data = static_cast<unsigned char*>(t.data) + first * t.stride[2] * element_size(t.dtype);
  t.extent[2] = count;
  return t;
}

void expect_same_rows(const Problem& one, const Problem& all, int32_t first, int32_t count,
                      const std::string& what) {
  const Results got = all.results(), wanted = one.results();
  for (int64_t h = 0; h < got.heads; ++h) {
    for (int32_t i = first; i < first + count; ++i) {
      ASSERT_EQ(std::memcmp(&got.out[got.row(0, h, i) * static_cast<size_t>(got.d_v)],
                            &wanted.out[wanted.row(0, h, i) * static_cast<size_t>(got.d_v)],
                            static_cast<size_t>(got.d_v) * sizeof(float)),
                0)
          << what << " head " << h << " row " << i;
      if (!got.lse.empty()) {
        ASSERT_EQ(std::memcmp(&got.lse[got.row(0, h, i)], &wanted.lse[wanted.row(0, h, i)],
                              sizeof(float)),
                  0)
            << what << " head " << h << " row " << i;
      }
    }
  }
}

TEST_P(RaggedDense, IsACallForEachSequence) {
  const std::vector<int32_t> cu_q = ends(rows_), cu_k = ends(keys_);
  for (const int32_t threads : {1, 3}) {
    CallSetup setup = setup_of(cu_q.back(), cu_k.back(), 4, 2);
    setup.threads = threads;
    Random random(GetParam().info().name, 7);
    Problem all(GetParam(), setup, random);
    Problem one(all, setup);
    fovea_ragged ragged = {};
    ragged.size = sizeof(ragged);
    ragged.batch = sequences_;
    ragged.cu_q = cu_q.data();
    ragged.cu_k = cu_k.data();
    all.call.ragged = &ragged;
    all.exec.pass = nullptr;
    all.checked_run();
    one.exec.pass = nullptr;
    const fovea_call whole = one.call;
    for (size_t b = 0; b < rows_.size(); ++b) {
      one.call = whole;
      for (fovea_tensor* t : {&one.call.q, &one.call.out, &one.call.lse})
        *t = t->data == nullptr ? *t : rows_of(*t, cu_q[b], rows_[b]);
      for (fovea_tensor* t : {&one.call.k, &one.call.v}) *t = rows_of(*t, cu_k[b], keys_[b]);
      ASSERT_EQ(one.run_again(), FOVEA_OK) << fovea_last_message();
      one.call = whole;
      expect_same_rows(one, all, cu_q[b], rows_[b], "sequence " + std::to_string(b));
    }
  }
}

TEST_P(RaggedCached, IsACallForEachSequence) {
  const std::vector<int32_t> cu_q = ends(rows_);
  CallSetup tokens = setup_of(1, 544, 4, 2);
  tokens.batch = sequences_;
  tokens.kv_len = keys_;
  CacheSetup cache;
  cache.page_size = 16;
  cache.slots = 544;
  Random random(GetParam().info().name, 8);
  const Problem source(GetParam(), tokens, random);
  CacheMemory memory(GetParam(), sequences_, 2, cache, used_slots(tokens, cache), random);
  ASSERT_EQ(memory.append(source, std::vector<int32_t>(keys_.size(), 0), keys_), FOVEA_OK)
      << fovea_last_message();

  CallSetup setup = setup_of(cu_q.back(), 544, 4, 2);
  Problem all(GetParam(), setup, random);
  Problem one(all, setup);
  fovea_ragged ragged = {};
  ragged.size = sizeof(ragged);
  ragged.batch = sequences_;
  ragged.cu_q = cu_q.data();
  all.call.ragged = &ragged;
  all.call.kv_len = keys_.data();
  all.exec.pass = one.exec.pass = nullptr;
  all.exec.threads = 2;
  memory.attach(all.call);
  all.checked_run();
  memory.attach(one.call);
  const fovea_call whole = one.call;
  for (size_t b = 0; b < rows_.size(); ++b) {
    one.call = whole;
    for (fovea_tensor* t : {&one.call.q, &one.call.out, &one.call.lse})
      *t = t->data == nullptr ? *t : rows_of(*t, cu_q[b], rows_[b]);
    fovea_cache own = memory.cache;
    own.block_table += static_cast<int64_t>(b) * own.block_table_stride;
    one.call.cache = &own;
    one.call.kv_len = &keys_[b];
    ASSERT_EQ(one.run_again(), FOVEA_OK) << fovea_last_message();
    one.call = whole;
    expect_same_rows(one, all, cu_q[b], rows_[b], "sequence " + std::to_string(b));
  }
}

}  // namespace
}  // namespace fovea::test
