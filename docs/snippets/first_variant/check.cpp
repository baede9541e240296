// check.cpp: is the kernel right, and how fast is it?
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/kernel_trial.h>
#include <fovea/dsl/register.h>
#include <my_attention.h>

#include <cstdio>

int main() {
  const fovea::Variant variant = fovea::declared_variant("fading_memory");
  bool passed = true;
  for (const int64_t length : {1, 63, 200}) {
    const fovea::ExampleShape shape = {
        .heads = 4, .kv_heads = 2, .q_len = length, .kv_len = length + 40};
    fovea::KernelTrial trial(variant, shape, my_attention_fading_memory);
    const fovea::KernelTrial::Report report = trial.check();
    std::puts(report.text.c_str());
    passed = passed && report.passed;
  }
  const fovea::ExampleShape large = {.heads = 8, .kv_heads = 8, .q_len = 2048, .kv_len = 2048};
  fovea::KernelTrial trial(variant, large, my_attention_fading_memory);
  const double seconds = trial.time();
  std::printf("8 heads of 2048 tokens: %.2f ms, %.0f GFLOP/s\n", seconds * 1e3,
              trial.useful_flops() / seconds * 1e-9);
  return passed ? 0 : 1;
}
