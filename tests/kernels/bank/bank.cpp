// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

#include <algorithm>

namespace fovea::test::bank {
namespace {

bool is_among(const TestKernel& kernel, std::initializer_list<const char*> variants) {
  return std::find(variants.begin(), variants.end(), kernel.variant_name()) != variants.end();
}

}  // namespace

CallSetup Bank::setup_of(int64_t q_rows, int64_t kv_rows, int64_t heads, int64_t kv_heads) const {
  count_case();
  CallSetup setup = plain_setup(q_rows, kv_rows, heads, kv_heads);
  want_all_outputs(setup, GetParam());
  return setup;
}

std::vector<TestKernel> kernels_for(std::initializer_list<const char*> variants) {
  return kernels_where([&](const TestKernel& k) {
    return k.info().d_qk == 64 && k.info().d_v == 64 && is_among(k, variants);
  });
}

std::vector<TestKernel> kernels_of_any_size(std::initializer_list<const char*> variants) {
  return kernels_where([&](const TestKernel& k) { return is_among(k, variants); });
}

double key_number(int64_t, int64_t, int64_t row, int64_t) { return static_cast<double>(row + 1); }

Element first_feature(double value) {
  return [value](int64_t, int64_t, int64_t, int64_t d) { return d == 0 ? value : 0.0; };
}

Element rows(std::vector<double> values) {
  return [values = std::move(values)](int64_t, int64_t, int64_t row, int64_t) {
    return values.at(static_cast<size_t>(row));
  };
}

Element rows_in_first_feature(std::vector<double> values) {
  return [values = std::move(values)](int64_t, int64_t, int64_t row, int64_t d) {
    return d == 0 ? values.at(static_cast<size_t>(row)) : 0.0;
  };
}

Element constant(double value) {
  return [value](int64_t, int64_t, int64_t, int64_t) { return value; };
}

Element copy_of(const StridedTensor& tensor) {
  return [&tensor](int64_t b, int64_t h, int64_t row, int64_t d) {
    return static_cast<double>(tensor.at(b, h, row, d));
  };
}

void expect_rows(const Problem& problem, const Results& got, const std::vector<double>& expected) {
  ASSERT_EQ(static_cast<int64_t>(expected.size()), got.rows);
  for (int64_t b = 0; b < got.batch; ++b) {
    for (int64_t h = 0; h < got.heads; ++h) {
      for (int64_t i = 0; i < got.rows; ++i) {
        const double wanted = expected[static_cast<size_t>(i)];
        if (std::isnan(wanted)) continue;
        const float exact = problem.rounded(wanted == empty ? 0.0 : wanted);
        for (int64_t d = 0; d < got.d_v; ++d) {
          ASSERT_EQ(got.at(b, h, i, d), exact)
              << "head " << h << ", row " << i << ", feature " << d << ": " << problem.text();
        }
        if (wanted == empty && !got.lse.empty()) {
          ASSERT_EQ(got.lse[got.row(b, h, i)], -INFINITY) << "row " << i << ": " << problem.text();
        }
      }
    }
  }
}

void expect_means(Problem& problem, const std::vector<double>& expected) {
  problem.fill_q(constant(0));
  problem.fill_v(key_number);
  const double most = 1 / unit_roundoff(problem.dtype());
  ASSERT_LE(static_cast<double>(problem.setup().kv_rows), most) << "not all of them are exact";
  expect_rows(problem, problem.checked_run(), expected);
}

void expect_refused(Problem& problem, fovea_status status, const std::string& field) {
  EXPECT_EQ(problem.run(), status) << problem.text();
  EXPECT_NE(std::string(fovea_last_message()).find(field), std::string::npos)
      << fovea_last_message();
  for (const StridedTensor* t : {&problem.out, &problem.lse}) {
    if (!t->memory()) continue;
    const unsigned char* bytes = t->memory()->data();
    EXPECT_TRUE(
        std::all_of(bytes, bytes + t->memory()->size(), [](unsigned char c) { return c == 0xff; }))
        << "written to by a refused call: " << problem.text();
  }
}

}  // namespace fovea::test::bank
