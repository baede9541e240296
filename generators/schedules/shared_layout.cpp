// shared_layout.cpp: banks that the threads of a warp want at once, counted for the shape at hand.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/shared_layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "generators/schedules/prefill_gpu.h"

namespace fovea {
namespace {

// The fewest numbers, from `extent` on, that may lie between neighbours of the next dimension for
// threads to meet in no bank, or in as few as can be; first_word(thread, numbers).
int padded(int extent, int width, const std::function<int(int, int)>& first_word) {
  const auto ways = [&](int numbers) {
    return bank_ways(width, [&](int thread) { return first_word(thread, numbers); });
  };
  int best = extent;
  for (int numbers = extent; numbers < extent + banks; numbers += width) {
    if (ways(numbers) < ways(best)) best = numbers;
  }
  return best;
}

// Rows of a tile that are read at once.
int row_width(const PrefillGpuSchedule& s) { return std::gcd(s.row_tile, whole_vector); }

}  // namespace

size_t bank_ways(int width, const std::function<int(int)>& first_word) {
  std::array<std::set<int>, banks> words;
  for (int thread = 0; thread < banks / width; ++thread) {
    const int first = first_word(thread);
    for (int word = first; word < first + width; ++word)
      words[static_cast<size_t>(word % banks)].insert(word);
  }
  size_t most = 0;
  for (const std::set<int>& of_bank : words) most = std::max(most, of_bank.size());
  return most;
}

int key_padding(const PrefillGpuSchedule& s) {
  if (s.key_tile % 4 == 0) return 4;
  if (s.key_tile % 2 == 0) return 2;
  return s.key_block() % 2 == 0 ? 1 : 0;
}

int state_rows(const PrefillGpuSchedule& s) {
  return padded(s.block_rows(), row_width(s), [&](int thread, int rows) {
    return thread / s.key_threads * s.row_tile + thread % s.key_threads * rows;
  });
}

int score_rows(const PrefillGpuSchedule& s) {
  return padded(s.block_rows(), row_width(s), [&](int thread, int rows) {
    return thread % s.row_threads * s.row_tile + thread / s.row_threads * s.key_tile * rows;
  });
}

int query_rows(const PrefillGpuSchedule& s) {
  return s.block_rows() + (s.block_rows() % banks == 0 ? whole_vector : 0);
}

}  // namespace fovea
