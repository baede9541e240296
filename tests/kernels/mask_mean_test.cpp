// mask_mean_test.cpp: what the masks of the test variants show, key by key.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>

#include "tests/kernels/mask_mean.h"

namespace fovea::test {
namespace {

const MaskRow mask_rows[] = {
    {"test_key_bias", [](const Place& p, const Values& v) { return v.at("visible", {p.k}) != 0; },
     [](Problem& problem, Random&) { fill_table(problem, "bias", 0); }},
    {"test_any_table",
     [](const Place& p, const Values& v) {
       return static_cast<double>(p.k) <=
              static_cast<double>(p.q) + v.at("reach", {quotient_of(p.q, 3)});
     }},
    {"test_dense_mask",
     [](const Place& p, const Values& v) {
       return remainder_of(static_cast<int64_t>(v.at("keep", {p.q, p.k})), 2) == 1;
     }},
    {"test_documents",
     [](const Place& p, const Values& v) {
       const auto query = static_cast<int64_t>(v.at("query_document", {p.batch, p.q}));
       const auto key = static_cast<int64_t>(v.at("key_document", {p.batch, p.k}));
       return remainder_of(query, 3) == remainder_of(key, 3);
     }},
    {"test_kv_head_factor", [](const Place& p, const Values&) { return p.k <= p.q; }},
    {"test_radius",
     [](const Place& p, const Values& v) {
       return static_cast<double>(std::abs(p.q - p.k)) <= v("radius");
     }},
    {"test_two_sided",
     [](const Place& p, const Values& v) {
       return p.q - v.whole("left") <= p.k && p.k <= p.q + v.whole("right");
     }},
    {"test_chunked",
     [](const Place& p, const Values& v) {
       return p.k <= p.q &&
              quotient_of(p.k, v.whole("length")) == quotient_of(p.q, v.whole("length"));
     }},
    {"test_future_or_prefix",
     [](const Place& p, const Values& v) { return p.k > p.q || p.k < v.whole("prefix"); }},
    {"test_nothing_visible", [](const Place&, const Values&) { return false; }},
    {"test_shift", [](const Place& p, const Values&) { return p.k <= p.q; }},
    {"bank_group_or_window",
     [](const Place& p, const Values& v) {
       const auto inside = [&](int64_t at) {
         return at >= v.whole("first") && at <= v.whole("last");
       };
       return (p.k <= p.q && p.q - p.k < v.whole("window")) || (inside(p.q) && inside(p.k));
     }},
    {"bank_global_both_ways",
     [](const Place& p, const Values& v) {
       return std::abs(p.q - p.k) <= v.whole("reach") || p.k < v.whole("global") ||
              p.q < v.whole("global");
     }},
    {"bank_block_map",
     [](const Place& p, const Values& v) {
       return v.at("visible", {quotient_of(p.q, v.whole("rows_of_block")),
                               quotient_of(p.k, v.whole("keys_of_block"))}) != 0;
     }},
};

const MaskRow* row_of(const TestKernel& kernel) {
  for (const MaskRow& row : mask_rows) {
    if (kernel.variant_name() == row.variant) return &row;
  }
  return nullptr;
}

class MaskMean : public KernelTest {};
FOVEA_FOR_KERNELS(MaskMean, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk <= 64 && row_of(k) != nullptr;
                  }));

TEST_P(MaskMean, IsThatOfThePredicate) { expect_means_of(GetParam(), *row_of(GetParam())); }

// A predicate of a variant that was renamed would test nothing.
TEST(MaskMeans, EveryVariantNamedHereExists) {
  for (const MaskRow& row : mask_rows) EXPECT_FALSE(kernels_of(row.variant).empty()) << row.variant;
}

}  // namespace
}  // namespace fovea::test
