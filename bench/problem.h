// problem.h: one attention call on random inputs, with its reference and its useful work.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PROBLEM_H
#define FOVEA_BENCH_PROBLEM_H

#include <fovea/dsl/example.h>
#include <fovea/dsl/reference.h>
#include <fovea/registry.h>
#include <fovea/fovea.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fovea::bench {

struct ProblemShape {
  int64_t b = 1, hq = 8, hkv = 8, sq = 2048, skv = 2048, d = 64;

  std::string text() const;
  // "b=1,hq=8,…"; what is left out keeps its value. Throws std::invalid_argument.
  static ProblemShape parse(const std::string& text, ProblemShape start);
};

struct Error {
  double max_abs = 0;  // against the double reference
  double bound = 0;    // twice the error of the plain f32 evaluation
  bool ok() const { return max_abs <= bound; }
};

// Owns inputs, output and workspace; run() does nothing but the call.
class Problem {
 public:
  // An empty target leaves the choice to the dispatcher. Parameters have the example values of
  // their declarations, but for the scalars in `settings`. Throws std::invalid_argument for what
  // cannot be run.
  Problem(const fovea_library_info* library, const Variant& variant, const ProblemShape& shape,
          const std::string& target, int threads, const std::map<std::string, double>& settings);
  Problem(const Problem&) = delete;

  void run();
  Error error() const;  // of the last run, on about 64 rows of each head
  // 2 * (d_qk + d_v) operations for every pair that the mask keeps; of head 0, where masks differ
  // between heads.
  double useful_flops() const { return useful_flops_; }
  const float* q() const { return q_.data(); }
  const float* k() const { return k_.data(); }
  const float* v() const { return v_.data(); }

 private:
  const fovea_library_info* library_;
  const Variant& variant_;
  ProblemShape shape_;
  std::string target_;
  int32_t index_ = -1;
  std::vector<float> q_, k_, v_, out_;
  std::unique_ptr<ExampleParameters> examples_;
  std::vector<unsigned char> params_, workspace_;
  Exec exec_;
  Call call_;
  double useful_flops_ = 0;
};

}  // namespace fovea::bench

#endif
