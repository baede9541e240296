// The decoder: one step takes the last token of each hypothesis to log-probabilities of the next.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention.h"
#include "encoder.h"
#include "weights.h"

namespace transliterate {

// What a step knows of the source; anything but Attention takes something away, to see what it was
// good for.
enum class Link {
  Attention,  // as the model was trained: looks back at every step, starts with the encoder's state
  Mean,       // weights that are all equal: the same mean of the memory at every step
  StateOnly,  // context 0: only the state it started with
  LooksOnly,  // starts with a state of 0, looks back
  Nothing,    // neither
};

struct Look {
  Link link = Link::Attention;
  // Of the scores. The model was trained without one; a small scale spreads the weights.
  float scale = 1;
};

// Recurrent states of hypotheses, `per_name` for each name, in the order of the names.
struct States {
  std::int64_t per_name = 0;
  std::vector<float> layer[kLayers];  // [names, per_name, kFeatures]

  // Row i becomes what row rows[i] was.
  void reorder(const std::vector<std::int64_t>& rows);
};

class Decoder {
 public:
  Decoder(const Weights& weights, int threads) : weights_(weights), attention_(threads) {}

  States start(const Encoded& encoded, std::int64_t per_name, Link link = Link::Attention) const;

  // `tokens` [names · per_name], the last of each hypothesis. The result is
  // [names · per_name, vocabulary], valid until the next step. Weights of attention go to
  // `weights`, unless it is null: [names, per_name, encoded.tokens].
  const std::vector<float>& step(const Encoded& encoded, const TokenIds& tokens, States* states,
                                 const Look& look = {}, std::vector<float>* weights = nullptr);

  SourceAttention& attention() { return attention_; }

 private:
  const Weights& weights_;
  SourceAttention attention_;
  std::vector<float> log_probabilities_;
};

}  // namespace transliterate
