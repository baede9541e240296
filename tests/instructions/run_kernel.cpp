// run_kernel.cpp: one call of one kernel of the library at a fixed shape, to be counted from
// outside. Argument: the kernel's name. Status 77: it cannot run on this machine.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <fovea_decode_instruction_kernels.h>
#include <fovea_instruction_kernels.h>
#include <fovea/fovea.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

// Prefill of 512 rows; decode of one over 2048 keys, with four query heads for each KV head.
struct Shape {
  int64_t heads, kv_heads, rows, keys;
};
constexpr Shape prefill = {2, 2, 512, 512}, decode = {8, 2, 1, 2048};
constexpr int cannot_run = 77;

const fovea_kernel_info* find_kernel(const fovea_library_info& library, const char* name) {
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    if (std::strcmp(library.kernels[i].name, name) == 0) return &library.kernels[i];
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const fovea_library_info* found = nullptr;
  const fovea_kernel_info* kernel = nullptr;
  for (const fovea_library_info* each :
       {fovea_instruction_kernels_library(), fovea_decode_instruction_kernels_library()}) {
    if (argc != 2 || kernel != nullptr) break;
    found = each;
    kernel = find_kernel(*each, argv[1]);
  }
  if (kernel == nullptr) {
    std::fprintf(stderr, "run_kernel: argument is the name of a kernel\n");
    return 2;
  }
  const fovea_library_info& library = *found;
  const Shape s = kernel->pass == FOVEA_DECODE ? decode : prefill;
  // Zeros are numbers of every type, and no instruction depends on the numbers.
  const auto tensor = [&](std::vector<unsigned char>& memory, fovea_dtype dtype, int64_t heads,
                          int64_t rows, int64_t features) {
    memory.assign(static_cast<size_t>(heads * rows * features) * sizeof(float), 0);
    const fovea::Shape shape = {1, heads, rows, features};
    return fovea::tensor(memory.data(), dtype, shape, fovea::bhsd_strides(shape));
  };
  std::vector<unsigned char> q, k, v, out, k_scale, v_scale;
  const bool cached = kernel->cache == FOVEA_CACHE_I8;
  const fovea_dtype stored = cached ? FOVEA_I8 : kernel->dtype;
  fovea::Call call(tensor(q, kernel->dtype, s.heads, s.rows, kernel->d_qk),
                   tensor(k, stored, s.kv_heads, s.keys, kernel->d_qk),
                   tensor(v, stored, s.kv_heads, s.keys, kernel->d_v),
                   tensor(out, kernel->dtype, s.heads, s.rows, kernel->d_v));
  fovea::Cache cache;
  const auto kv_len = static_cast<int32_t>(s.keys);
  if (cached) {
    cache.k_scale = tensor(k_scale, FOVEA_F16, s.kv_heads, s.keys, 1);
    cache.v_scale = tensor(v_scale, FOVEA_F16, s.kv_heads, s.keys, 1);
    call.cache = &cache;
    call.kv_len = &kv_len;
  }
  fovea::Exec exec;
  exec.threads = 1;
  exec.target = library.targets[kernel->target].name;
  call.exec = &exec;

  const float slopes[] = {0.25F, 0.0625F};
  fovea_instruction_kernels_causal_window_params window = {};
  window.window = 128;
  fovea_instruction_kernels_alibi_causal_params alibi = {};
  alibi.slope = fovea::table(slopes, prefill.heads);
  const std::string variant = library.variants[kernel->variant].name;
  const void* params = nullptr;
  if (variant == "causal_window") params = &window;
  if (variant == "alibi_causal") params = &alibi;

  const fovea_status status = fovea_variant_run(&library, kernel->variant, &call, params);
  if (status == FOVEA_OK) return 0;
  std::fprintf(stderr, "run_kernel: %s\n", fovea_last_message());
  return status == FOVEA_UNSUPPORTED ? cannot_run : 1;
}
