// problem.h: an attention call with its memory, ready to run.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_PROBLEM_H
#define FOVEA_TESTS_SUPPORT_PROBLEM_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "parameter_block.h"
#include "setup.h"

namespace fovea::test {

// What a call wrote, dense and as f32: out [B, Hq, Sq, d_v], lse, row_max and row_sum [B, Hq, Sq],
// probabilities [B, Hq, Sq, Skv] (empty if not wanted). What is not to be written keeps the fill
// pattern.
struct Results {
  int64_t batch = 0, heads = 0, rows = 0, d_v = 0, keys = 0;
  fovea_dtype dtype = FOVEA_F32;  // that `out` was rounded to
  std::vector<float> out, lse, row_max, row_sum, probabilities;

  size_t row(int64_t b, int64_t h, int64_t i) const {
    return static_cast<size_t>((b * heads + h) * rows + i);
  }
  float at(int64_t b, int64_t h, int64_t i, int64_t d = 0) const {
    return out[row(b, h, i) * static_cast<size_t>(d_v) + static_cast<size_t>(d)];
  }
  float probability(int64_t b, int64_t h, int64_t i, int64_t key) const {
    return probabilities[row(b, h, i) * static_cast<size_t>(keys) + static_cast<size_t>(key)];
  }
};

// Empty if all bits are equal, else the first difference.
std::string bit_difference(const Results& got, const Results& expected);

// The value of element (b, h, row, d), before it is rounded to the type of the tensor.
using Element = std::function<double(int64_t, int64_t, int64_t, int64_t)>;

class Problem {
 public:
  // Random numbers in q, k and v; rows past the lengths stay NaN.
  Problem(const TestKernel& kernel, const CallSetup& setup, Random& random);
  // The same numbers and parameters in another layout, with other threads or another workspace.
  Problem(const Problem& other, const CallSetup& setup);
  // With zeros for numbers; for tests that fill what they need.
  Problem(const TestKernel& kernel, const CallSetup& setup);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void fill_q(const Element& value) { fill_(q, setup_.heads, q_lens_(), value); }
  void fill_k(const Element& value) { fill_(k, setup_.kv_heads, kv_lens_(), value); }
  void fill_v(const Element& value) { fill_(v, setup_.kv_heads, kv_lens_(), value); }

  // Fills the outputs with the pattern and runs the kernel.
  fovea_status run();
  // The call and nothing else.
  fovea_status run_again() const {
    return fovea_variant_run(kernel_.library, kernel_.info().variant, &call, params.data());
  }
  Results results() const;
  // Runs, and reports as test failures: any status but FOVEA_OK, any write outside of the outputs.
  Results checked_run();

  const TestKernel& kernel() const { return kernel_; }
  const CallSetup& setup() const { return setup_; }
  fovea_dtype dtype() const { return kernel_.dtype(); }
  // A number as `out` holds it.
  float rounded(double x) const { return rounded_to(dtype(), static_cast<float>(x)); }
  std::string text() const;  // all that is needed to see the case

  StridedTensor q, k, v, out, lse, row_max, row_sum, probabilities;
  ParameterBlock params;
  fovea_call call = {};
  fovea_exec exec = {};

 private:
  // An output as the call has it now, and where Results keeps it.
  struct NamedOutput {
    const char* name;
    const StridedTensor* tensor;
    std::vector<float> Results::* dense;
    bool is_per_key;
  };
  std::vector<NamedOutput> wanted_outputs_() const;
  // Elements of a row that a call writes.
  int64_t written_(const NamedOutput& output, int64_t b) const;
  void allocate_();
  std::vector<int64_t> q_lens_() const;
  std::vector<int64_t> kv_lens_() const;
  static void fill_(const StridedTensor& tensor, int64_t heads, const std::vector<int64_t>& rows,
                    const Element& value);
  std::string foreign_write_() const;

  TestKernel kernel_;
  CallSetup setup_;
  std::shared_ptr<GuardedMemory> workspace_;
};

}  // namespace fovea::test

#endif
