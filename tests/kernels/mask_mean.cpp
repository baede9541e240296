// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/mask_mean.h"

#include "tests/support/table_entries.h"

namespace fovea::test {

Values::Values(const Problem& problem)
    : variant_(problem.kernel().declaration()),
      values_(parameter_values(variant_, problem.params.data())) {}

double Values::at(const char* name, const std::vector<int64_t>& indices) const {
  return table_entry(*variant_.find_parameter(name), values_.at(name).table, indices);
}

int64_t remainder_of(int64_t a, int64_t b) { return ((a % b) + b) % b; }
int64_t quotient_of(int64_t a, int64_t b) { return (a - remainder_of(a, b)) / b; }

void fill_table(Problem& problem, const char* name, double value) {
  const Variant& variant = problem.kernel().declaration();
  const ParameterValues values = parameter_values(variant, problem.params.data());
  const fovea_table& table = values.at(name).table;
  std::vector<int64_t> extent;
  size_t count = 1;
  for (size_t i = 0; i < variant.find_parameter(name)->axes.size(); ++i) {
    extent.push_back(table.extent[i]);
    count *= static_cast<size_t>(table.extent[i]);
  }
  problem.params.set_table(name, extent, std::vector<double>(count, value));
}

void expect_means_of(const TestKernel& kernel, const MaskRow& mask) {
  for (uint64_t i = 0; i < 6; ++i) {
    count_case();
    Random random(kernel.info().name, 3000 + i);
    CallSetup setup = random_setup(kernel, random);
    setup.packed = false;
    setup.v.shared = {};
    if (mask.tokens != 0) {
      const bool wants_lse = setup.wants_lse;
      setup = plain_setup(mask.tokens, mask.tokens, 2, 1);
      setup.wants_lse = wants_lse;
    }
    Problem problem(kernel, setup, random);
    if (mask.prepare != nullptr) mask.prepare(problem, random);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 0.0; });
    const int64_t classes = problem.dtype() == FOVEA_F32 ? 0 : kernel.info().d_v;
    problem.fill_v([classes](int64_t, int64_t, int64_t row, int64_t d) {
      return classes == 0 ? static_cast<double>(row + 1) : row % classes == d ? 1.0 : 0.0;
    });
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
          std::vector<double> of_class(static_cast<size_t>(classes));
          for (; place.k < place.kv_len; ++place.k) {
            if (!mask.visible(place, values)) continue;
            if (classes == 0) {
              sum += static_cast<double>(place.k + 1);
            } else {
              ++of_class[static_cast<size_t>(place.k % classes)];
            }
            ++count;
          }
          for (int64_t d = 0; d < got.d_v; ++d) {
            const double total = classes == 0 ? sum : of_class[static_cast<size_t>(d)];
            ASSERT_EQ(got.at(b, h, row, d), problem.rounded(count == 0 ? 0 : total / count))
                << "head " << h << ", row " << row << " of " << problem.text();
          }
        }
      }
    }
  }
}

}  // namespace fovea::test
