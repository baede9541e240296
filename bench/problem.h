// problem.h: one attention call on random inputs, with its reference and its useful work.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PROBLEM_H
#define FOVEA_BENCH_PROBLEM_H

#include <fovea/dsl/reference.h>
#include <fovea/fovea.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/parameters.h"
#include "bench/shared_memory.h"

namespace fovea::bench {

// "f32", "f16", "bf16"; throws std::invalid_argument for another name.
fovea_dtype parse_element_type(const std::string& name);

struct Error {
  double max_abs = 0;  // against the double reference
  double bound = 0;    // twice the error of a plain evaluation, and some roundings at least
  bool ok() const { return max_abs <= bound; }
};

// The inputs lie in shared memory as dense [batch, head, row, feature] arrays, one after the other,
// with room for an output behind them; every contender takes its own copy.
class Problem {
 public:
  // Throws std::invalid_argument for parameters that are not allowed.
  Problem(const Variant& variant, const std::string& dtype, const ExampleShape& shape,
          const Settings& settings, SharedMemory& memory);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Variant& variant() const { return variant_; }
  const ExampleShape& shape() const { return shape_; }
  fovea_dtype dtype() const { return call_.q.dtype; }
  const CallParameters& parameters() const { return parameters_; }
  // Of the arrays in shared memory.
  const fovea_call& call() const { return call_; }
  size_t q_bytes() const { return q_bytes_; }
  size_t k_bytes() const { return k_bytes_; }
  size_t v_bytes() const { return v_bytes_; }
  size_t out_bytes() const { return out_bytes_; }

  // 2 * (d_qk + d_v) operations for every pair that the mask keeps.
  double useful_flops() const { return useful_flops_; }
  // Inputs and output, each once.
  double bytes() const;
  // Of what lies in call().out.
  Error error() const;
  // What a worker process is told: shape, scale, where in shared memory what lies.
  nlohmann::ordered_json description() const;

 private:
  void make_reference_();

  const Variant& variant_;
  ExampleShape shape_;
  CallParameters parameters_;
  SharedMemory& memory_;
  fovea_call call_{};
  size_t q_bytes_ = 0, k_bytes_ = 0, v_bytes_ = 0, out_bytes_ = 0;
  std::vector<std::pair<std::string, size_t>> tables_;  // name, offset in shared memory
  double useful_flops_ = 0;
  std::vector<size_t> checked_;  // elements of the output
  std::vector<double> exact_;
  double bound_ = 0;
};

}  // namespace fovea::bench

#endif
