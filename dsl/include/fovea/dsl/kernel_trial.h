// kernel_trial.h: a generated kernel on random inputs, compared with its declaration and timed.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_KERNEL_TRIAL_H
#define FOVEA_DSL_KERNEL_TRIAL_H

#include <fovea/dsl/example.h>
#include <fovea/dsl/reference.h>
#include <fovea/dsl/variant.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fovea {

// A call of one shape: q, k and v of mean 0 and variance 1, the example parameters, dense tensors.
// The variant must outlive it.
//   KernelTrial trial(variant, shape, my_attention_causal, FOVEA_BF16);
//   std::puts(trial.check().text.c_str());
class KernelTrial {
 public:
  // Runs a call; the message of the kernel when it refuses it, empty when it does not.
  using Kernel = std::function<std::string(const fovea_call*, const void* params)>;

  // dtype: that of q, k, v and out, to which the random numbers are rounded.
  KernelTrial(const Variant& variant, const ExampleShape& shape, Kernel kernel,
              fovea_dtype dtype = FOVEA_F32, uint32_t seed = 1);
  // The function of a generated header.
  template <typename Params>
  KernelTrial(const Variant& variant, const ExampleShape& shape,
              fovea_status (*kernel)(const fovea_call*, const Params*),
              fovea_dtype dtype = FOVEA_F32, uint32_t seed = 1)
      : KernelTrial(
            variant, shape,
            [kernel](const fovea_call* call, const void* params) -> std::string {
              const bool ok = kernel(call, static_cast<const Params*>(params)) == FOVEA_OK;
              return ok ? "" : fovea_last_message();
            },
            dtype, seed) {}
  KernelTrial(const KernelTrial&) = delete;
  KernelTrial& operator=(const KernelTrial&) = delete;

  // To be changed before check or time: scale, lengths, offsets, threads, target.
  fovea_call& call() { return call_; }
  // What the last run wrote, widened to f32.
  const std::vector<float>& out() const { return out_; }

  struct Report {
    bool passed = false;
    double error = 0, allowed = 0;  // the largest of `out` and `lse`
    std::string text;               // one line: both, or what went wrong where
  };
  // Runs the kernel. Allowed is twice the error of a plain evaluation (reference.h), and at least
  // 64 roundings of f32, and for f16 or bf16 four of that type, of the largest output: in calls of
  // few numbers a plain evaluation can be exact by luck. Looks at every row_step-th row: the
  // reference is slow.
  Report check(int64_t row_step = 1);

  // Seconds of one call: the median of `repetitions`, after one that does not count. Throws
  // std::runtime_error with the kernel's message when it refuses the call.
  double time(int repetitions = 9);

  // Additions and multiplications of both products, over the pairs that the mask keeps: what a call
  // of the default offset and lengths has to do at least.
  double useful_flops() const;

 private:
  void run_();
  void read_out_();

  const Variant& variant_;
  ExampleShape shape_;
  Kernel kernel_;
  ExampleParameters parameters_;
  std::vector<unsigned char> q_, k_, v_, stored_out_;
  std::vector<float> out_, lse_;
  fovea_call call_{};
};

}  // namespace fovea

#endif
