// A text as queries, keys and values: attention looks for places where the last characters were the
// same, and takes the character that came next there (an induction head, written down by hand).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace context_parallel {

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kKvHeads = 2;  // looking back 3 and 6 characters
constexpr std::int64_t kFeatures = 128;
constexpr float kScale = 8;  // for every character that is the same

// A run of positions of the text.
struct Span {
  std::int64_t first, count;
  std::int64_t end() const { return first + count; }
};

// Dense [head, position, feature] for the positions of a span, queries.
std::vector<float> queries(const std::string& text, const Span& span);
// Keys, then values, each dense [KV head, position, feature].
std::vector<float> keys_and_values(const std::string& text, const Span& span);

// The character that a row of each head together expect: `rows` holds kHeads rows of kFeatures.
char expected_character(const float* const rows[kHeads]);

// The first `length` characters of a file (0: all), as 7-bit characters; std::runtime_error if it
// cannot be read or is shorter.
std::string read_text(const std::string& path, std::int64_t length);

}  // namespace context_parallel
