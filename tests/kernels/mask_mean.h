// mask_mean.h: masks against predicates in plain C++, which share no code with them.
//
// All scores are equal and key j holds the value j + 1, so that a row is the mean of the numbers of
// the keys it sees: exact, without the reference. In f16 and bf16 such means are too coarse: there
// key j holds 1 in feature j % d_v and 0 elsewhere, so that a feature counts few keys.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_KERNELS_MASK_MEAN_H
#define FOVEA_TESTS_KERNELS_MASK_MEAN_H

#include <fovea/dsl/reference.h>

#include <vector>

#include "tests/support/problem.h"

namespace fovea::test {

struct Place {
  int64_t batch, head, kv_head, q, k, row, q_len, kv_len;
};

// The parameters of a call.
class Values {
 public:
  explicit Values(const Problem& problem);
  double operator()(const char* name) const { return values_.at(name).scalar; }
  int64_t whole(const char* name) const { return static_cast<int64_t>(values_.at(name).scalar); }
  // An entry of a table; indices are clamped into its extents.
  double at(const char* name, const std::vector<int64_t>& indices) const;
  int64_t whole_at(const char* name, const std::vector<int64_t>& indices) const {
    return static_cast<int64_t>(at(name, indices));
  }

 private:
  const Variant& variant_;
  ParameterValues values_;
};

// What a mask row of a table of tests says about a variant.
struct MaskRow {
  const char* variant;
  bool (*visible)(const Place&, const Values&);
  // Parameters under which scores of zero stay equal, or that the pattern wants; nullptr: any.
  void (*prepare)(Problem&, Random&) = nullptr;
  // Positions from 0 to this number, in one sequence; 0: any call.
  int64_t tokens = 0;
};

// Division and remainder as the DSL has them: the remainder is never negative.
int64_t remainder_of(int64_t a, int64_t b);
int64_t quotient_of(int64_t a, int64_t b);

// All entries of a table become one number.
void fill_table(Problem& problem, const char* name, double value);

// Calls of all kinds against the predicate.
void expect_means_of(const TestKernel& kernel, const MaskRow& mask);

}  // namespace fovea::test

#endif
