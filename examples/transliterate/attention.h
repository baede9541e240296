// The one place that calls the generated library: cross-attention from hypotheses to their source.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/fovea.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace transliterate {

// What the library is built for: one head of this many features.
constexpr std::int64_t kFeatures = 256;

// The sources of a batch: one row per token, keys and values alike, as the encoder writes them.
struct Memory {
  const float* data = nullptr;  // [names, tokens, kFeatures]
  std::int64_t names = 0;
  std::int64_t tokens = 0;                   // per name, with padding
  const std::vector<std::int32_t>& lengths;  // [names], without
};

// The rows of one step: `per_name` hypotheses about each name, one query each.
struct Queries {
  const float* data = nullptr;  // [names, per_name, kFeatures]
  std::int64_t per_name = 0;
  // Scores are scale · query · key. 0 makes all weights of a source equal.
  float scale = 1;
};

// Where results go: rows `stride` numbers apart, so that they can lie inside a wider matrix.
struct Context {
  float* data = nullptr;
  std::int64_t stride = kFeatures;
  float* weights = nullptr;  // [names, per_name, tokens]; null: not wanted
};

class SourceAttention {
 public:
  // At most `threads` at once; 0: as many as this process may use.
  explicit SourceAttention(int threads) { exec_.threads = threads; }

  // Throws std::runtime_error with the library's message.
  void run(const Queries& queries, const Memory& memory, const Context& context);

  // Which kernel the library takes for a call like the first and why, for people. Kept on request.
  void keep_explanation() { explain_ = true; }
  const std::string& explanation() const { return explanation_; }

 private:
  fovea::Exec exec_;
  std::vector<std::byte> workspace_;  // kept from step to step
  std::string explanation_;
  bool explain_ = false;
};

}  // namespace transliterate
