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

namespace fovea::bench {
namespace {

// Filled once: pages that were never written would all be one page of zeros.
const std::vector<uint64_t>& buffer() {
  static const std::vector<uint64_t> words(2 * flush_size() / sizeof(uint64_t), 1);
  return words;
}

// Eight sums, so that additions do not wait for each other.
uint64_t read_words(const uint64_t* words, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  }
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
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

double stream_gbps(int threads) {
  const std::vector<uint64_t>& words = buffer();
  const size_t part = words.size() / static_cast<size_t>(threads);
  std::atomic<int> waiting{threads};
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (size_t t = 0; t < static_cast<size_t>(threads); ++t) {
    workers.emplace_back([&, t] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      const auto begin = std::chrono::steady_clock::now();
      sink = read_words(words.data() + t * part, part);
      seconds[t] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
  }
  for (std::thread& w : workers) w.join();
  const double longest = *std::max_element(seconds.begin(), seconds.end());
  return static_cast<double>(part * static_cast<size_t>(threads) * sizeof(uint64_t)) / longest *
         1e-9;
}

}  // namespace fovea::bench
