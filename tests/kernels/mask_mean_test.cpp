// mask_mean_test.cpp: masks against predicates in plain C++, which share no code with them.
//
// All scores are equal and key j holds the value j + 1, so that a row is the mean of the numbers of
// the keys it sees: exact, without the reference.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/reference.h>

#include <cmath>
#include <cstdlib>

#include "tests/support/comparison.h"
#include "tests/support/table_entries.h"

namespace fovea::test {
namespace {

struct Place {
  int64_t batch, head, kv_head, q, k, row, q_len, kv_len;
};

// The parameters of a call.
class Values {
 public:
  explicit Values(const Problem& problem)
      : variant_(problem.kernel().declaration()),
        values_(parameter_values(variant_, problem.params.data())) {}
  double operator()(const char* name) const { return values_.at(name).scalar; }
  int64_t whole(const char* name) const { return static_cast<int64_t>(values_.at(name).scalar); }
  double at(const char* name, const std::vector<int64_t>& indices) const {
    return table_entry(*variant_.find_parameter(name), values_.at(name).table, indices);
  }

 private:
  const Variant& variant_;
  ParameterValues values_;
};

struct MaskRow {
  const char* variant;
  bool (*visible)(const Place&, const Values&);
  // Parameters under which all scores of zero stay equal; nullptr: they always do.
  void (*neutral)(Problem&) = nullptr;
};

int64_t euclidean(int64_t a, int64_t b) { return ((a % b) + b) % b; }
int64_t floor_div(int64_t a, int64_t b) { return (a - euclidean(a, b)) / b; }

void zero_table(Problem& problem, const char* name) {
  const ParameterValues all =
      parameter_values(problem.kernel().declaration(), problem.params.data());
  const fovea_table& table = all.at(name).table;
  std::vector<int64_t> extent;
  size_t count = 1;
  for (size_t i = 0; i < problem.kernel().declaration().find_parameter(name)->axes.size(); ++i) {
    extent.push_back(table.extent[i]);
    count *= static_cast<size_t>(table.extent[i]);
  }
  problem.params.set_table(name, extent, std::vector<double>(count, 0));
}

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
     [](Problem& problem) { zero_table(problem, "slope"); }},
    {"test_key_bias", [](const Place& p, const Values& v) { return v.at("visible", {p.k}) != 0; },
     [](Problem& problem) { zero_table(problem, "bias"); }},
    {"test_any_table",
     [](const Place& p, const Values& v) {
       return static_cast<double>(p.k) <=
              static_cast<double>(p.q) + v.at("reach", {floor_div(p.q, 3)});
     }},
    {"test_dense_mask",
     [](const Place& p, const Values& v) {
       return euclidean(static_cast<int64_t>(v.at("keep", {p.q, p.k})), 2) == 1;
     }},
    {"test_documents",
     [](const Place& p, const Values& v) {
       const auto query = static_cast<int64_t>(v.at("query_document", {p.batch, p.q}));
       const auto key = static_cast<int64_t>(v.at("key_document", {p.batch, p.k}));
       return euclidean(query, 3) == euclidean(key, 3);
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
       return p.k <= p.q && floor_div(p.k, v.whole("length")) == floor_div(p.q, v.whole("length"));
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
       return v.at("visible", {floor_div(p.q, v.whole("rows_of_block")),
                               floor_div(p.k, v.whole("keys_of_block"))}) != 0;
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

TEST_P(MaskMean, IsThatOfThePredicate) {
  const MaskRow& mask = *row_of(GetParam());
  for (uint64_t i = 0; i < 6; ++i) {
    count_case();
    Random random(GetParam().info().name, 3000 + i);
    CallSetup setup = random_setup(GetParam(), random);
    setup.packed = false;
    setup.v.shared = {};
    Problem problem(GetParam(), setup, random);
    if (mask.neutral != nullptr) mask.neutral(problem);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 0.0; });
    problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row + 1.0; });
    const Results got = problem.checked_run();
    const Values values(problem);
    for (int64_t b = 0; b < setup.batch; ++b) {
      for (int64_t h = 0; h < setup.heads; ++h) {
        for (int64_t row = 0; row < setup.q_len_of(b); ++row) {
          Place place{b,
                      h,
                      h / (setup.heads / setup.kv_heads),
                      setup.q_offset_of(b) + row,
                      0,
                      row,
                      setup.q_len_of(b),
                      setup.kv_len_of(b)};
          double sum = 0, count = 0;
          for (; place.k < place.kv_len; ++place.k) {
            if (!mask.visible(place, values)) continue;
            sum += static_cast<double>(place.k + 1);
            ++count;
          }
          const auto mean = static_cast<float>(count == 0 ? 0 : sum / count);
          for (int64_t d = 0; d < got.d_v; ++d) {
            ASSERT_EQ(got.at(b, h, row, d), mean)
                << "head " << h << ", row " << row << " of " << problem.text();
          }
        }
      }
    }
  }
}

// A predicate of a variant that was renamed would test nothing.
TEST(MaskMeans, EveryVariantNamedHereExists) {
  for (const MaskRow& row : mask_rows) EXPECT_FALSE(kernels_of(row.variant).empty()) << row.variant;
}

}  // namespace
}  // namespace fovea::test
