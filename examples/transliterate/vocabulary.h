// The characters and marks that the model knows, source and target alike.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "encoder.h"

namespace transliterate {

// How a name is to be spelled. Empty: not known.
struct Hint {
  std::string country;  // two capital letters
  std::string role;     // given, surname or unknown
};

class Vocabulary {
 public:
  static constexpr std::int32_t kPad = 0;
  static constexpr std::int32_t kBegin = 1;
  static constexpr std::int32_t kEnd = 2;

  // Reads vocab.json. Throws std::runtime_error naming the file.
  explicit Vocabulary(const std::filesystem::path& file);

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

  // Country, role, characters, end. Throws std::runtime_error when the unit is empty, has more than
  // `most` tokens or a character that is no Arabic letter of the model, or the hint is unknown.
  TokenIds encode(const std::string& unit, const Hint& hint, std::size_t most) const;
  // The characters of a result and its end.
  TokenIds encode_target(const std::string& text) const;
  // Characters only; marks have no text.
  std::string decode(const TokenIds& ids) const;

  // For pictures: a character, or what a mark means.
  std::string label(std::int32_t id) const;
  // The ids of the Arabic letters.
  const TokenIds& letters() const { return letters_; }

 private:
  bool is_mark(std::int32_t id) const;
  std::vector<std::string> tokens_;
  std::map<std::string, std::int32_t> ids_;
  std::map<std::string, std::int32_t> countries_;  // by what a hint says, "" for unknown
  std::map<std::string, std::int32_t> roles_;
  TokenIds letters_;
};

}  // namespace transliterate
