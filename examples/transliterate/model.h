// The model folder, and everything it takes to spell a name with it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "beam_search.h"
#include "decoder.h"
#include "encoder.h"
#include "vocabulary.h"
#include "weights.h"

namespace transliterate {

// Of meta.json.
struct Settings {
  std::int64_t beam = 0;
  std::int64_t source_tokens = 0;  // at most
  std::int64_t target_tokens = 0;  // at most
  double length_alpha = 0;

  // Throws std::runtime_error naming file, field, its value and what is allowed.
  static Settings read(const std::filesystem::path& file);
};

// A part of a name, as the model reads it.
struct Part {
  std::string text;
  TokenIds ids;
};

class Model {
 public:
  // At most `threads` for attention; 0: as many as this process may use.
  Model(const std::filesystem::path& folder, int threads);

  // Throws std::runtime_error that says what cannot be read and why, but not which name. A role
  // in the hint is that of all parts.
  std::vector<Part> parts_of(const std::string& name, const Hint& hint) const;

  Search search(std::int64_t beam) const;
  // Hypotheses about each source, computed `batch` sources at a time.
  std::vector<std::vector<Hypothesis>> spell(const std::vector<TokenIds>& sources,
                                             const Search& search, std::size_t batch = 64);

  const Settings& settings() const { return settings_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Weights& weights() const { return weights_; }
  Decoder& decoder() { return decoder_; }

 private:
  Settings settings_;
  Vocabulary vocabulary_;
  Weights weights_;
  Decoder decoder_;
};

}  // namespace transliterate
