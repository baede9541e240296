// accuracy_test.cpp: every kernel against the reference, over calls of every kind.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

// Its extent would have to reach every query position.
bool has_query_table(const TestKernel& kernel) {
  const fovea_variant_info& variant = kernel.variant();
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& p = variant.parameters[i];
    for (int32_t axis = 0; axis < p.rank; ++axis) {
      if (p.kind != FOVEA_TABLE) continue;
      if (p.axes[axis] == FOVEA_AXIS_QUERY || p.axes[axis] == FOVEA_AXIS_POSITION) return true;
    }
  }
  return false;
}

class Accuracy : public KernelTest {};
FOVEA_FOR_KERNELS(Accuracy, all_kernels());

// Over so many calls together no floor is needed: luck evens out. Sums of weights are one number a
// row where the output has one a feature, and take longer: of one kernel they were off by 2.16
// times as much as those of the plain evaluation over 40 calls, by 1.42 times over 1000.
constexpr int many_calls = 40, many_calls_for_sums = 200;

// Many for the variants without parameters and score steps, which are there in every size of rows;
// FOVEA_TEST_CALLS asks for more of all.
int calls_of(const TestKernel& kernel) {
  const char* text = std::getenv("FOVEA_TEST_CALLS");
  const int calls = text != nullptr ? std::atoi(text) : 15;
  if (kernel.variant().parameter_count != 0 || kernel.has_score_steps()) return calls;
  const bool returns_sums = (kernel.variant().outputs & FOVEA_OUTPUT_ROW_SUM) != 0;
  return std::max(calls, returns_sums ? many_calls_for_sums : many_calls);
}

// Guard pages, NaN around the data, layouts, lengths, offsets, groups and parameters are drawn; see
// random_setup.
TEST_P(Accuracy, RandomCalls) {
  const int calls = calls_of(GetParam());
  ErrorSummary errors;
  for (int i = 0; i < calls && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i));
    const CallSetup setup = random_setup(GetParam(), random);
    Problem problem(GetParam(), setup, random);
    expect_accurate(problem, &errors);
  }
  std::printf("%s: %s\n", GetParam().info().name, errors.text().c_str());
  if (calls < many_calls) return;
  struct Pair {
    const ErrorTally &kernel, &plain;
  };
  EXPECT_LE(errors.out.typical(), 2 * errors.plain_out.typical()) << errors.text();
  // Products of bf16 numbers are exact in f32, and plain sums of them nearly so: better than f32
  // calls can be, and than a kernel that scales its queries first. The floor stands for both.
  if (GetParam().dtype() != FOVEA_F32) return;
  for (const Pair& p :
       {Pair{errors.lse, errors.plain_lse}, Pair{errors.row_max, errors.plain_row_max},
        Pair{errors.row_sum, errors.plain_row_sum},
        Pair{errors.probabilities, errors.plain_probabilities}}) {
    EXPECT_LE(p.kernel.typical(), 2 * p.plain.typical()) << errors.text();
  }
}

// Positions at both ends of what is allowed, where sums of positions and scalars would wrap first.
// Score steps are left out: f32 does not tell neighbours apart there.
class FarPositions : public KernelTest {};
FOVEA_FOR_KERNELS(FarPositions, kernels_where([](const TestKernel& k) {
                    return !k.has_score_steps() && !has_query_table(k);
                  }));

TEST_P(FarPositions, AreExact) {
  constexpr int64_t farthest = (int64_t{1} << 30) - 65536;
  for (uint64_t i = 0; i < 6; ++i) {
    Random random(GetParam().info().name, 900 + i);
    CallSetup setup = random_setup(GetParam(), random, 300000);
    setup.q_offset.clear();
    for (int64_t b = 0; b < setup.batch; ++b) {
      const int64_t offset = i % 2 == 0 ? farthest - setup.q_len_of(b) - random.integer(0, 2)
                                        : -farthest + setup.kv_len_of(b) + random.integer(0, 2);
      setup.q_offset.push_back(static_cast<int32_t>(offset));
    }
    Problem problem(GetParam(), setup, random);
    if (i % 3 == 0) problem.params.set_scalars_to_an_end(random);
    expect_accurate(problem);
  }
}

}  // namespace
}  // namespace fovea::test
