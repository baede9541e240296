// cached_trial.h: a cache of pages in memory of an OpenCL device: tokens are appended to it and
// then attended to, with whatever a block table says.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_DEVICES_CACHED_TRIAL_H
#define FOVEA_TESTS_DEVICES_CACHED_TRIAL_H

#include <fovea/registry.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/src/gpu/device.h"

namespace fovea::test {

// Two sequences of 37 and 21 keys in pages of 8, two query heads on one KV head, of variant
// `causal`; the last rows of each sequence ask.
class CachedTrial {
 public:
  static constexpr int64_t sequences = 2, heads = 2, page_size = 8, pages = 12, columns = 5;
  static constexpr int32_t keys[sequences] = {37, 21};

  CachedTrial(const fovea_library_info* library, int32_t variant, int64_t features, int64_t rows)
      : library_(library), variant_(variant), d_(features), rows_(rows) {
    device_.driver = &detail::opencl_driver();
    require(device_.driver->begin(&device_, nullptr));
  }
  ~CachedTrial() {
    device_.driver->wait(&device_);
    for (const detail::DeviceMemory m : memory_) device_.driver->release(&device_, m);
    device_.driver->end(&device_);
  }
  CachedTrial(const CachedTrial&) = delete;
  CachedTrial& operator=(const CachedTrial&) = delete;

  struct Result {
    std::vector<float> out;  // (sequence, head, row, feature)
    std::vector<float> k;    // the pool, of which only slots of tokens are no NaN
  };

  static float number(int64_t i) { return std::sin(static_cast<float>(i)); }

  Result attend(const std::vector<int32_t>& table, const char* pass) {
    const int64_t longest = 40;
    const auto all = [](int64_t count, int64_t first) {
      std::vector<float> numbers(static_cast<size_t>(count));
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number(first + int64_t(i));
      return numbers;
    };
    const std::vector<float> nothing(static_cast<size_t>(pages * page_size * d_), NAN);
    fovea_cache cache = {};
    cache.size = sizeof(cache);
    cache.block_table =
        static_cast<const int32_t*>(place(table.data(), table.size() * sizeof(int32_t)));
    cache.block_table_columns = cache.block_table_stride = columns;
    fovea_exec exec = {};
    exec.size = sizeof(exec);
    exec.device = FOVEA_DEVICE_OPENCL;
    exec.stream = device_.stream;
    exec.pass = pass;

    fovea_append append = {};
    append.size = sizeof(append);
    append.k_new = tensor(all(sequences * longest * d_, 1), sequences, 1, longest);
    append.v_new = tensor(all(sequences * longest * d_, 7), sequences, 1, longest);
    append.new_len = keys;
    append.k = tensor(nothing, pages, 1, page_size);
    const detail::DeviceMemory k_memory = memory_.back();
    append.v = tensor(nothing, pages, 1, page_size);
    append.cache = &cache;
    append.exec = &exec;
    require(fovea_variant_append(library_, variant_, &append, nullptr));

    Result result;
    result.out.assign(static_cast<size_t>(sequences * heads * rows_ * d_), NAN);
    fovea_call call = {};
    call.size = sizeof(call);
    call.q = tensor(all(sequences * heads * rows_ * d_, 3), sequences, heads, rows_);
    call.k = append.k;
    call.v = append.v;
    call.out = tensor(result.out, sequences, heads, rows_);
    const detail::DeviceMemory out_memory = memory_.back();
    // All rows that do not want a sum store it in one place.
    const std::vector<float> sums(static_cast<size_t>(sequences * heads * rows_), NAN);
    call.lse = {place(sums.data(), sums.size() * sizeof(float)),
                FOVEA_F32,
                {sequences, heads, rows_, 1},
                {heads * rows_, rows_, 1, 1}};
    call.kv_len = keys;
    call.cache = &cache;
    call.exec = &exec;
    call.workspace_size = fovea_variant_workspace(library_, variant_, &call);
    call.workspace = take(call.workspace_size + 1);
    require(fovea_variant_run(library_, variant_, &call, nullptr));
    result.k = nothing;
    require(device_.driver->copy_out(&device_, result.out.data(), out_memory,
                                     result.out.size() * sizeof(float)));
    require(device_.driver->copy_out(&device_, result.k.data(), k_memory,
                                     result.k.size() * sizeof(float)));
    require(device_.driver->wait(&device_));
    return result;
  }

  // What a row of a sequence gets, in double.
  std::vector<double> expected(int64_t b, int64_t h, int64_t row) const {
    const int64_t longest = 40, count = keys[b] - rows_ + row + 1;
    std::vector<double> weights, out(static_cast<size_t>(d_), 0.0);
    double sum = 0;
    for (int64_t key = 0; key < count; ++key) {
      double score = 0;
      for (int64_t d = 0; d < d_; ++d)
        score += static_cast<double>(number(3 + ((b * heads + h) * rows_ + row) * d_ + d)) *
                 static_cast<double>(number(1 + (b * longest + key) * d_ + d));
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d_))));
      sum += weights.back();
    }
    for (int64_t key = 0; key < count; ++key) {
      for (int64_t d = 0; d < d_; ++d)
        out[static_cast<size_t>(d)] +=
            weights[static_cast<size_t>(key)] / sum *
            static_cast<double>(number(7 + (b * longest + key) * d_ + d));
    }
    return out;
  }

 private:
  static void require(fovea_status status) {
    if (status != FOVEA_OK) throw std::runtime_error(fovea_last_message());
  }
  void* take(size_t bytes) {
    memory_.push_back(0);
    require(device_.driver->allocate(&device_, bytes, &memory_.back()));
    return reinterpret_cast<void*>(memory_.back());
  }
  void* place(const void* from, size_t bytes) {
    void* there = take(bytes);
    require(device_.driver->copy_in(&device_, memory_.back(), from, bytes));
    return there;
  }
  fovea_tensor tensor(const std::vector<float>& numbers, int64_t outer, int64_t inner,
                      int64_t rows) {
    return {place(numbers.data(), numbers.size() * sizeof(float)),
            FOVEA_F32,
            {outer, inner, rows, d_},
            {inner * rows * d_, rows * d_, d_, 1}};
  }

  const fovea_library_info* library_;
  const int32_t variant_;
  const int64_t d_, rows_;
  detail::DeviceCall device_ = {};
  std::vector<detail::DeviceMemory> memory_;
};

// Sequence 0 has pages 3, 0, 7, 11, 5, sequence 1 has 2, 9, 4.
inline std::vector<int32_t> good_table() { return {3, 0, 7, 11, 5, 2, 9, 4, 100, -3}; }
// Of sequence 1 no page is one.
inline std::vector<int32_t> bad_table() {
  return {3, 0, 7, 11, 5, 12, -1, INT32_MAX, INT32_MIN, 2000000};
}

}  // namespace fovea::test

#endif
