// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "unicode_text.h"

namespace transliterate {
namespace {

std::int32_t find(const std::string& field, const std::string& value,
                  const std::map<std::string, std::int32_t>& known) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  std::string allowed;
  for (const auto& [name, id] : known) allowed += (name.empty() ? "" : " ") + name;
  throw std::runtime_error(field + " is '" + value + "', allowed:" + allowed);
}

}  // namespace

Vocabulary::Vocabulary(const std::filesystem::path& file) {
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(file.string() + ": " + what);
  };
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) fail("cannot be opened");
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object() || !json.contains("tokens") || !json["tokens"].is_array()) {
    fail("tokens is missing, expected a list of strings");
  }
  for (const auto& token : json["tokens"]) {
    if (!token.is_string()) fail("tokens holds " + token.dump() + ", expected strings");
    tokens_.push_back(token.get<std::string>());
    const auto id = static_cast<std::int32_t>(tokens_.size() - 1);
    if (!ids_.emplace(tokens_.back(), id).second) fail("tokens holds " + token.dump() + " twice");
    if (is_arabic_letter(tokens_.back())) letters_.push_back(id);
    if (tokens_.back().size() == 4 && is_mark(id)) countries_[tokens_.back().substr(1, 2)] = id;
  }
  const std::vector<std::string> marks = {"<PAD>", "<BOS>", "<EOS>", "<UNK>"};
  if (tokens_.size() < marks.size() || !std::equal(marks.begin(), marks.end(), tokens_.begin())) {
    fail("tokens begin with other marks, expected <PAD> <BOS> <EOS> <UNK>");
  }
  const auto mark = [&](const std::string& token) {
    if (!ids_.contains(token)) fail("tokens lack " + token);
    return ids_[token];
  };
  countries_[""] = mark("<UNK_COUNTRY>");
  roles_["given"] = mark("<ROLE_GIVEN>");
  roles_["surname"] = mark("<ROLE_SURNAME>");
  roles_[""] = roles_["unknown"] = mark("<ROLE_UNKNOWN>");
}

bool Vocabulary::is_mark(std::int32_t id) const {
  const std::string& token = tokens_[static_cast<std::size_t>(id)];
  return token.size() > 1 && token.front() == '<' && token.back() == '>';
}

TokenIds Vocabulary::encode(const std::string& unit, const Hint& hint, std::size_t most) const {
  TokenIds ids = {find("country", hint.country, countries_), find("role", hint.role, roles_)};
  const std::vector<std::string> characters = characters_of(unit);
  if (characters.empty()) {
    throw std::runtime_error("nothing is left of the name, expected Arabic letters");
  }
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto found = ids_.find(characters[i]);
    const bool known =
        found != ids_.end() && (characters[i] == " " || std::find(letters_.begin(), letters_.end(),
                                                                  found->second) != letters_.end());
    if (!known) {
      std::string allowed;
      for (const std::int32_t id : letters_) allowed += " " + tokens_[static_cast<std::size_t>(id)];
      throw std::runtime_error("character " + std::to_string(i + 1) + " is " +
                               code_point_text(characters[i]) +
                               ", which the model does not know; allowed:" + allowed);
    }
    ids.push_back(found->second);
  }
  ids.push_back(kEnd);
  if (ids.size() > most) {
    throw std::runtime_error("has " + std::to_string(characters.size()) +
                             " characters, allowed are at most " + std::to_string(most - 3) +
                             " in one part of a name");
  }
  return ids;
}

TokenIds Vocabulary::encode_target(const std::string& text) const {
  TokenIds ids;
  for (const std::string& character : characters_of(text)) {
    const auto found = ids_.find(character);
    if (found == ids_.end()) {
      throw std::runtime_error("target '" + text + "' holds " + code_point_text(character) +
                               ", which the model does not know");
    }
    ids.push_back(found->second);
  }
  ids.push_back(kEnd);
  return ids;
}

std::string Vocabulary::decode(const TokenIds& ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id == kEnd) break;
    if (!is_mark(id)) text += tokens_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string Vocabulary::label(std::int32_t id) const {
  if (id == kEnd) return "end";
  const std::string& token = tokens_[static_cast<std::size_t>(id)];
  if (token == "<UNK_COUNTRY>") return "country?";
  if (token == "<ROLE_UNKNOWN>") return "role?";
  if (token == "<ROLE_GIVEN>") return "given";
  if (token == "<ROLE_SURNAME>") return "surname";
  if (is_mark(id)) return token.substr(1, token.size() - 2);
  return token == " " ? "␣" : token;
}

}  // namespace transliterate
