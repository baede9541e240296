// Text from a prompt: the prompt in chunks, then token by token, each time the most probable.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_GENERATOR_H_
#define GENERATE_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kv_cache.h"
#include "transformer.h"

namespace generate {

struct Settings {
  std::int32_t window = 0;  // tokens that are seen, the current one counted; 0: all
  std::int32_t sinks = 0;   // the first tokens, which a window leaves visible
  std::int64_t chunk = 64;  // tokens of the prompt at once; without a cache all of them
  int threads = 1;          // at most; 0: as many as this process may use
  bool explain = false;
};

struct Generated {
  Tokens tokens;                           // without the prompt
  std::vector<std::vector<float>> logits;  // that each token was chosen from
  double prefill_seconds = 0;              // up to the logits of the first token
  double decode_seconds = 0;               // of the other tokens
  std::size_t cache_bytes = 0;
  std::vector<std::string> explanations;
};

// `count` tokens. forced: tokens to go on with whatever the logits say, so that logits of several
// runs can be compared. prompt must not be empty and, with count, fit the model's context.
Generated generate(const Transformer& model, CacheKind kind, const Settings& settings,
                   const Tokens& prompt, std::size_t count, const Tokens* forced = nullptr);

}  // namespace generate

#endif  // GENERATE_GENERATOR_H_
