// The public headers: structure layouts that generated code and callers rely on, and the C++
// builders. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <fovea/fovea.hpp>

#include <cstddef>
#include <type_traits>

#include "checks.h"
#include "fake_library.h"
#include "halide_abi.h"

extern "C" size_t fovea_test_c_call_size(void);

namespace fovea::test {
namespace {

TEST(Headers, CallLayoutOfTheFirstVersion) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "64-bit layout";
  EXPECT_EQ(sizeof(fovea_tensor), 80U);
  EXPECT_EQ(sizeof(fovea_table), 72U);
  EXPECT_EQ(offsetof(fovea_call, q), 8U);
  EXPECT_EQ(offsetof(fovea_call, lse), 328U);
  EXPECT_EQ(offsetof(fovea_call, exec), 472U);
  EXPECT_EQ(detail::kFirstCallSize, 480U);
  EXPECT_EQ(detail::kFirstExecSize, 56U);
  EXPECT_EQ(offsetof(fovea_call, row_max), 480U);
  EXPECT_EQ(sizeof(fovea_call), 720U);
  EXPECT_EQ(offsetof(fovea_exec, device), 56U);
  EXPECT_EQ(sizeof(fovea_exec), 64U);
  EXPECT_EQ(sizeof(fovea_cache), 200U);
  EXPECT_EQ(detail::kFirstCacheSize, 200U);
  EXPECT_EQ(detail::kFirstRaggedSize, sizeof(fovea_ragged));
  EXPECT_EQ(detail::kFirstAppendSize, sizeof(fovea_append));
}

TEST(Headers, CAndCxxAgree) { EXPECT_EQ(fovea_test_c_call_size(), sizeof(fovea_call)); }

TEST(Headers, HalideLayout) {
  EXPECT_EQ(sizeof(detail::HalideDimension), 16U);
  EXPECT_EQ(sizeof(detail::HalideType), 4U);
  if (sizeof(void*) != 8) GTEST_SKIP() << "64-bit layout";
  EXPECT_EQ(sizeof(detail::HalideBuffer), 56U);
  EXPECT_EQ(offsetof(detail::HalideBuffer, dim), 40U);
  EXPECT_TRUE(std::is_standard_layout_v<detail::HalideBuffer>);
}

TEST(CxxHeader, Builders) {
  float data[48];
  const Shape shape = {2, 3, 4, 2};
  const fovea_tensor dense = tensor(data, shape);
  const int64_t bhsd[4] = {24, 8, 2, 1};
  const fovea_tensor projected = tensor_bshd(static_cast<const float*>(data), shape);
  const int64_t bshd[4] = {24, 2, 6, 1};
  for (int axis = 0; axis < 4; ++axis) {
    EXPECT_EQ(dense.stride[axis], bhsd[axis]);
    EXPECT_EQ(projected.stride[axis], bshd[axis]);
    EXPECT_EQ(projected.extent[axis], dense.extent[axis]);
  }
  EXPECT_EQ(dense.data, data);
  EXPECT_EQ(dense.dtype, FOVEA_F32);
  bf16 halves[4];
  EXPECT_EQ(tensor(halves, {1, 1, 2, 2}).dtype, FOVEA_BF16);
  EXPECT_EQ(tensor(halves, {1, 1, 2, 2}, {0, 0, 9, 1}).stride[2], 9);
  EXPECT_EQ(lse_tensor(data, 2, 3, 4).stride[0], 12);
  EXPECT_EQ(row_max_tensor(data, 2, 3, 4).stride[0], 12);
  EXPECT_EQ(row_sum_tensor(data, 2, 3, 4).stride[1], 4);
  const fovea_tensor weights = probabilities_tensor(data, 2, 3, 4, 2);
  EXPECT_EQ(weights.extent[3], 2);
  EXPECT_EQ(weights.stride[0], 24);
  EXPECT_EQ(weights.stride[3], 1);
  const fovea_table t = table(data, 2, 3, 4);
  EXPECT_EQ(t.extent[2], 4);
  EXPECT_EQ(t.extent[3], 0);
  EXPECT_EQ(t.stride[0], 12);
  EXPECT_EQ(t.stride[2], 1);
}

TEST(CxxHeader, CallStartsEmptyWithItsSize) {
  const Call call;
  EXPECT_EQ(call.size, sizeof(fovea_call));
  EXPECT_EQ(call.lse.data, nullptr);
  EXPECT_EQ(call.exec, nullptr);
  const Exec exec;
  EXPECT_EQ(exec.size, sizeof(fovea_exec));
  EXPECT_EQ(exec.threads, 0);
}

TEST(CxxHeader, CachesStartEmptyWithTheirSize) {
  const Cache plain;
  EXPECT_EQ(plain.size, sizeof(fovea_cache));
  EXPECT_EQ(plain.block_table, nullptr);
  const int32_t entries[6] = {};
  const Cache paged = paged_cache(entries, 3);
  EXPECT_EQ(paged.size, sizeof(fovea_cache));
  EXPECT_EQ(paged.block_table, entries);
  EXPECT_EQ(paged.block_table_columns, 3);
  EXPECT_EQ(paged.block_table_stride, 3);
  EXPECT_EQ(paged.ring_window, 0);
}

TEST(CxxHeader, AppendsAndRaggedBatches) {
  float data[4];
  const fovea_tensor tensors[] = {tensor(data, {1, 1, 1, 1}), tensor(data + 1, {1, 1, 1, 1}),
                                  tensor(data + 2, {1, 1, 1, 1}), tensor(data + 3, {1, 1, 1, 1})};
  const Append append(tensors[0], tensors[1], tensors[2], tensors[3]);
  EXPECT_EQ(append.size, sizeof(fovea_append));
  EXPECT_EQ(append.k_new.data, data);
  EXPECT_EQ(append.v_new.data, data + 1);
  EXPECT_EQ(append.k.data, data + 2);
  EXPECT_EQ(append.v.data, data + 3);
  EXPECT_EQ(append.cache, nullptr);
  const int32_t rows[] = {0, 1};
  const Ragged ragged(1, rows);
  EXPECT_EQ(ragged.size, sizeof(fovea_ragged));
  EXPECT_EQ(ragged.batch, 1);
  EXPECT_EQ(ragged.cu_q, rows);
  EXPECT_EQ(ragged.cu_k, nullptr);
  EXPECT_EQ(Ragged(1, rows, rows).cu_k, rows);
}

TEST(CxxHeader, StatusCarriesTheMessage) {
  Attention a;
  a.exec.threads = -4;
  const Status bad = a.run();
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.code(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(bad.name(), "invalid argument");
  EXPECT_EQ(std::string(bad.message()).rfind("exec.threads = -4", 0), 0U);
  a.exec.threads = 0;
  const Status good = a.run();
  EXPECT_TRUE(good.ok());
  EXPECT_STREQ(good.message(), "");
}

}  // namespace
}  // namespace fovea::test
