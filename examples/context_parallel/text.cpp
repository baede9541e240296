// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace context_parallel {
namespace {

// Mixes all bits of x (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The last 1, 2, … `longest` characters up to position `last`, each as a vector of signs made from
// them: two positions have as large a product as characters that are the same.
void add_context(const std::string& text, std::int64_t last, int longest, float* row) {
  const float size = 1 / std::sqrt(static_cast<float>(kFeatures));
  std::uint64_t seed = 0;
  for (int n = 0; n < longest && last - n >= 0; ++n) {
    seed = mixed(seed ^ static_cast<unsigned char>(text[static_cast<std::size_t>(last - n)]));
    std::uint64_t signs = seed;
    for (std::int64_t d = 0; d < kFeatures; ++d) {
      if (d % 64 == 0) signs = mixed(signs);
      row[d] += (signs >> (d % 64) & 1) != 0 ? size : -size;
    }
  }
}

int context_of(std::int64_t kv_head) { return kv_head == 0 ? 3 : 6; }

}  // namespace

std::vector<float> queries(const std::string& text, const Span& span) {
  std::vector<float> rows(static_cast<std::size_t>(kHeads * span.count * kFeatures));
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const std::int64_t kv_head = h / (kHeads / kKvHeads);
    for (std::int64_t i = 0; i < span.count; ++i) {
      float* row = rows.data() + (h * span.count + i) * kFeatures;
      add_context(text, span.first + i, context_of(kv_head), row);
      // The second head of each pair is less picky.
      const float sharpness = h % 2 == 0 ? 1.0F : 0.5F;
      for (std::int64_t d = 0; d < kFeatures; ++d) row[d] *= sharpness;
    }
  }
  return rows;
}

std::vector<float> keys_and_values(const std::string& text, const Span& span) {
  const std::int64_t half = kKvHeads * span.count * kFeatures;
  std::vector<float> rows(static_cast<std::size_t>(2 * half));
  for (std::int64_t h = 0; h < kKvHeads; ++h) {
    for (std::int64_t i = 0; i < span.count; ++i) {
      const std::int64_t row = (h * span.count + i) * kFeatures;
      const std::int64_t position = span.first + i;
      // The key is what came before a character, the value the character itself.
      add_context(text, position - 1, context_of(h), rows.data() + row);
      const char character = text[static_cast<std::size_t>(position)];
      rows[static_cast<std::size_t>(half + row + character)] = 1;
    }
  }
  return rows;
}

char expected_character(const float* const rows[kHeads]) {
  int best = 0;
  float largest = -1;
  for (int c = 0; c < static_cast<int>(kFeatures); ++c) {
    float sum = 0;
    for (std::int64_t h = 0; h < kHeads; ++h) sum += rows[h][c];
    if (sum <= largest) continue;
    largest = sum;
    best = c;
  }
  return static_cast<char>(best);
}

std::string read_text(const std::string& path, std::int64_t length) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (static_cast<std::int64_t>(text.size()) < length) {
    throw std::runtime_error(path + " has " + std::to_string(text.size()) +
                             " characters, fewer than --length " + std::to_string(length));
  }
  if (length > 0) text.resize(static_cast<std::size_t>(length));
  for (char& c : text) c = static_cast<char>(static_cast<unsigned char>(c) & 0x7f);
  return text;
}

}  // namespace context_parallel
