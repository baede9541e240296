// caches.cpp: the last-level cache: its size, flushing it, and how fast memory is read past it.
// SPDX-License-Identifier: Apache-2.0
#include "bench/caches.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/large_memory.h"

namespace fovea::bench {
namespace {

// Filled once: pages that were never written would all be one page of zeros.
const LargeVector<uint64_t>& buffer() {
  static const LargeVector<uint64_t> words(2 * flush_size() / sizeof(uint64_t), 1);
  return words;
}

// By the widest vectors that the CPU has: from a cache, narrow ones are bound by their number.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOVEA_FOR_EACH_VECTOR_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOVEA_FOR_EACH_VECTOR_WIDTH
#endif

// Eight sums, so that additions do not wait for each other.
FOVEA_FOR_EACH_VECTOR_WIDTH
uint64_t read_words(const uint64_t* words, size_t count) {
  typedef uint64_t Line __attribute__((vector_size(64), aligned(8)));
  constexpr size_t lines = 8, step = lines * sizeof(Line) / sizeof(uint64_t);
  Line sums[lines] = {};
  for (size_t i = 0; i + step <= count; i += step) {
    const auto* line = reinterpret_cast<const Line*>(words + i);
    for (size_t j = 0; j < lines; ++j) sums[j] += line[j];
  }
  for (size_t j = 1; j < lines; ++j) sums[0] += sums[j];
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof(Line) / sizeof(uint64_t); ++i) sum += sums[0][i];
  return sum;
}

// Keeps the compiler from leaving the reading out.
std::atomic<uint64_t> sink;

}  // namespace

size_t flush_size() {
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const long largest = std::max({l3, l2, 16L << 20});
  return 2 * static_cast<size_t>(largest);
}

void flush_caches() { sink = read_words(buffer().data(), flush_size() / sizeof(uint64_t)); }

namespace {

// Each thread reads its part of the first `count` words `passes` times, after once untimed if there
// are several.
double read_gbps(int threads, size_t count, int passes) {
  const LargeVector<uint64_t>& words = buffer();
  const size_t part = count / static_cast<size_t>(threads);
  std::atomic<int> waiting{threads};
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (size_t t = 0; t < static_cast<size_t>(threads); ++t) {
    workers.emplace_back([&, t] {
      const auto read = [&] { sink = read_words(words.data() + t * part, part); };
      if (passes > 1) read();
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < passes; ++i) read();
      seconds[t] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
  }
  for (std::thread& w : workers) w.join();
  const double longest = *std::max_element(seconds.begin(), seconds.end());
  return static_cast<double>(part * static_cast<size_t>(threads) * sizeof(uint64_t)) * passes /
         longest * 1e-9;
}

}  // namespace

double stream_gbps(int threads) { return read_gbps(threads, buffer().size(), 1); }

double stream_gbps(int threads, size_t bytes) {
  // More than the buffer holds comes from memory like the buffer itself.
  const size_t count = std::min(bytes / sizeof(uint64_t), buffer().size());
  constexpr size_t sample_words = size_t{1} << 26;  // some milliseconds
  const size_t passes = std::clamp<size_t>(sample_words / std::max<size_t>(count, 1), 2, 100000);
  return read_gbps(threads, count, static_cast<int>(passes));
}

}  // namespace fovea::bench
