// run_kernel.cpp: one call of one kernel of the library at a fixed shape, to be counted from
// outside. Argument: the kernel's name. Status 77: it cannot run on this machine.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <fovea_instruction_kernels.h>
#include <fovea/fovea.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int64_t heads = 2, rows = 512;
constexpr int cannot_run = 77;

const fovea_kernel_info* find_kernel(const fovea_library_info& library, const char* name) {
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    if (std::strcmp(library.kernels[i].name, name) == 0) return &library.kernels[i];
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const fovea_library_info& library = *fovea_instruction_kernels_library();
  const fovea_kernel_info* kernel = argc == 2 ? find_kernel(library, argv[1]) : nullptr;
  if (kernel == nullptr) {
    std::fprintf(stderr, "run_kernel: argument is the name of a kernel\n");
    return 2;
  }
  // Zeros are numbers of every type, and no instruction depends on the numbers.
  const auto tensor = [&](std::vector<unsigned char>& memory, int64_t features) {
    memory.assign(static_cast<size_t>(heads * rows * features) * sizeof(float), 0);
    fovea_tensor t = fovea::tensor(reinterpret_cast<float*>(memory.data()),
                                   fovea::Shape{1, heads, rows, features});
    t.dtype = kernel->dtype;
    return t;
  };
  std::vector<unsigned char> q, k, v, out;
  fovea::Call call(tensor(q, kernel->d_qk), tensor(k, kernel->d_qk), tensor(v, kernel->d_v),
                   tensor(out, kernel->d_v));
  fovea::Exec exec;
  exec.threads = 1;
  exec.target = library.targets[kernel->target].name;
  call.exec = &exec;

  const float slopes[heads] = {0.25F, 0.0625F};
  fovea_instruction_kernels_causal_window_params window = {};
  window.window = 128;
  fovea_instruction_kernels_alibi_causal_params alibi = {};
  alibi.slope = fovea::table(slopes, heads);
  const std::string variant = library.variants[kernel->variant].name;
  const void* params = nullptr;
  if (variant == "causal_window") params = &window;
  if (variant == "alibi_causal") params = &alibi;

  const fovea_status status = fovea_variant_run(&library, kernel->variant, &call, params);
  if (status == FOVEA_OK) return 0;
  std::fprintf(stderr, "run_kernel: %s\n", fovea_last_message());
  return status == FOVEA_UNSUPPORTED ? cannot_run : 1;
}
