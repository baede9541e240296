// catalogue_mean_test.cpp: what the masks of the catalogue show, key by key, written down from the
// papers and models they come from.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>

#include "tests/kernels/mask_mean.h"

namespace fovea::test {
namespace {

const MaskRow mask_rows[] = {
    {"full", [](const Place&, const Values&) { return true; }},
    {"causal", [](const Place& p, const Values&) { return p.k <= p.q; }},
    {"causal_window",
     [](const Place& p, const Values& v) { return p.k <= p.q && p.q - p.k < v.whole("window"); }},
    {"global_window",
     [](const Place& p, const Values& v) {
       return p.k <= p.q && (p.q - p.k < v.whole("window") || p.k < v.whole("global"));
     }},
    {"padded",
     [](const Place& p, const Values& v) {
       return static_cast<double>(p.k) < v.at("length", {p.batch});
     }},
    {"softcapped_window",
     [](const Place& p, const Values& v) { return p.k <= p.q && p.q - p.k < v.whole("window"); }},
    {"alibi_causal", [](const Place& p, const Values&) { return p.k <= p.q; },
     [](Problem& problem, Random&) { fill_table(problem, "slope", 0); }},
};

const MaskRow* row_of(const TestKernel& kernel) {
  for (const MaskRow& row : mask_rows) {
    if (kernel.variant_name() == row.variant) return &row;
  }
  return nullptr;
}

class CatalogueMean : public KernelTest {};
FOVEA_FOR_KERNELS(CatalogueMean, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk <= 64 && row_of(k) != nullptr;
                  }));

TEST_P(CatalogueMean, IsThatOfThePredicate) { expect_means_of(GetParam(), *row_of(GetParam())); }

// A predicate of a variant that was renamed would test nothing.
TEST(CatalogueMeans, EveryVariantNamedHereExists) {
  for (const MaskRow& row : mask_rows) EXPECT_FALSE(kernels_of(row.variant).empty()) << row.variant;
}

}  // namespace
}  // namespace fovea::test
