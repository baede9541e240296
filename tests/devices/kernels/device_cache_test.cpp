// device_cache_test.cpp: caches in memory of the device, whose block tables the host cannot look
// at. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/devices/cached_trial.h"
#include "tests/support/test_kernel.h"

namespace fovea::test {
namespace {

class DeviceCache : public KernelTest {
 protected:
  static constexpr int64_t rows = 3;
  CachedTrial::Result attend(const std::vector<int32_t>& table) {
    CachedTrial trial(GetParam().library, GetParam().info().variant, GetParam().info().d_qk, rows);
    count_case();
    return trial.attend(table, GetParam().pass_name());
  }
  // Of sequence b, but for rounding.
  void expect_attention(const CachedTrial::Result& got, int64_t b) {
    const int64_t d_v = GetParam().info().d_v;
    const CachedTrial trial(GetParam().library, GetParam().info().variant, d_v, rows);
    for (int64_t h = 0; h < CachedTrial::heads; ++h) {
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<double> wanted = trial.expected(b, h, row);
        const int64_t first = ((b * CachedTrial::heads + h) * rows + row) * d_v;
        for (int64_t d = 0; d < d_v; ++d)
          ASSERT_NEAR(got.out[static_cast<size_t>(first + d)], wanted[static_cast<size_t>(d)], 1e-5)
              << "sequence " << b << " head " << h << " row " << row << " feature " << d;
      }
    }
  }
};
FOVEA_FOR_KERNELS(DeviceCache, kernels_where([](const TestKernel& k) {
                    return k.variant_name() == "causal" && k.info().pass != FOVEA_APPEND &&
                           k.info().cache == FOVEA_CACHE_SAME && k.dtype() == FOVEA_F32;
                  }));

// All that is not a token is NaN, in the pages of a sequence and beside them.
TEST_P(DeviceCache, ReadsTheSlotsOfTokensAndNoOthers) {
  const CachedTrial::Result got = attend(good_table());
  for (int64_t b = 0; b < CachedTrial::sequences; ++b) expect_attention(got, b);
}

// Where numbers name no page of the pool, the result of their sequence is not specified; nothing is
// written for it, and the other sequence does not notice.
TEST_P(DeviceCache, PageNumbersOutOfRangeStayInsideOfThePool) {
  const CachedTrial::Result got = attend(bad_table());
  expect_attention(got, 0);
  const std::vector<int32_t> table = bad_table();
  const int64_t d_qk = GetParam().info().d_qk, of_page = CachedTrial::page_size * d_qk;
  for (size_t i = 0; i < got.k.size(); ++i) {
    const auto page = static_cast<int32_t>(static_cast<int64_t>(i) / of_page);
    const auto column = std::find(table.begin(), table.begin() + CachedTrial::columns, page);
    const int64_t slot = (column - table.begin()) * CachedTrial::page_size +
                         static_cast<int64_t>(i) % of_page / d_qk;
    ASSERT_EQ(std::isnan(got.k[i]), slot >= CachedTrial::keys[0]) << "page " << page << " " << i;
  }
}

}  // namespace
}  // namespace fovea::test
