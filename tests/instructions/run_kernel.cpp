// run_kernel.cpp: one call of one kernel of the libraries at a fixed shape, to be counted from
// outside. Arguments: the kernel's name, and the rows of prefill, 512 unless given, of as many
// keys. Status 77: it cannot run on this machine. SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <fovea/fovea.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/arm64/libraries.h"

namespace {

// Decode is of one row, with four query heads for each KV head.
struct Shape {
  int64_t heads, kv_heads, rows, keys;
};
constexpr Shape decode = {8, 2, 1, 2048};
constexpr int64_t prefill_heads = 2;
constexpr int cannot_run = 77;

const fovea_kernel_info* find_kernel(const fovea_library_info& library, const char* name) {
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    if (std::strcmp(library.kernels[i].name, name) == 0) return &library.kernels[i];
  }
  return nullptr;
}

// The parameters that the counted variants have.
std::vector<unsigned char> parameters_of(const fovea_variant_info& variant) {
  static const float slopes[] = {0.25F, 0.0625F};
  std::vector<unsigned char> memory(256);
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& p = variant.parameters[i];
    const std::string name = p.name;
    const int32_t window = 128;
    const fovea_table slope = fovea::table(slopes, prefill_heads);
    if (name == "window") std::memcpy(&memory[p.offset], &window, sizeof(window));
    if (name == "slope") std::memcpy(&memory[p.offset], &slope, sizeof(slope));
  }
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  const fovea_library_info* found = nullptr;
  const fovea_kernel_info* kernel = nullptr;
  for (const auto& each : fovea::test::library_functions) {
    if (argc < 2 || argc > 3 || kernel != nullptr) break;
    found = each();
    kernel = find_kernel(*found, argv[1]);
  }
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 512;
  if (kernel == nullptr || rows < 1) {
    std::fprintf(stderr, "run_kernel: arguments are the name of a kernel [rows]\n");
    return 2;
  }
  const fovea_library_info& library = *found;
  const Shape s =
      kernel->pass == FOVEA_DECODE ? decode : Shape{prefill_heads, prefill_heads, rows, rows};
  // Zeros are numbers of every type, and no instruction depends on the numbers.
  const auto tensor = [&](std::vector<unsigned char>& data, fovea_dtype dtype, int64_t heads,
                          int64_t rows_of_it, int64_t features) {
    data.assign(static_cast<size_t>(heads * rows_of_it * features) * sizeof(float), 0);
    const fovea::Shape shape = {1, heads, rows_of_it, features};
    return fovea::tensor(data.data(), dtype, shape, fovea::bhsd_strides(shape));
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

  const fovea_variant_info& variant = library.variants[kernel->variant];
  const std::vector<unsigned char> memory = parameters_of(variant);
  const void* params = variant.parameter_count > 0 ? memory.data() : nullptr;

  const fovea_status status = fovea_variant_run(&library, kernel->variant, &call, params);
  if (status == FOVEA_OK) return 0;
  std::fprintf(stderr, "run_kernel: %s\n", fovea_last_message());
  return status == FOVEA_UNSUPPORTED ? cannot_run : 1;
}
