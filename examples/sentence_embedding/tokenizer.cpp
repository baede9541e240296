// SPDX-License-Identifier: Apache-2.0
#include "tokenizer.h"

#include <fstream>
#include <stdexcept>

#include "json_file.h"
#include "text_normalizer.h"

namespace sentence_embedding {
namespace {

// A longer word becomes [UNK] as a whole.
constexpr std::size_t kMaxWordCharacters = 100;
constexpr const char* kContinuation = "##";

}  // namespace

Tokenizer::Tokenizer(const std::filesystem::path& model) {
  const auto config_path = model / "tokenizer_config.json";
  const auto config = read_json(config_path);
  require_setting(config, config_path, "do_lower_case", true);
  require_setting(config, config_path, "tokenize_chinese_chars", true, /*optional=*/true);
  require_setting(config, config_path, "strip_accents", nullptr, /*optional=*/true);

  const auto limits_path = model / "sentence_bert_config.json";
  max_tokens_ = static_cast<std::size_t>(
      require_count(read_json(limits_path), limits_path, "max_seq_length"));
  if (max_tokens_ < 2) {
    throw std::runtime_error(limits_path.string() + ": max_seq_length has no room for [CLS] [SEP]");
  }

  const auto vocabulary_path = model / "vocab.txt";
  std::ifstream file(vocabulary_path, std::ios::binary);
  if (!file) throw std::runtime_error(vocabulary_path.string() + ": cannot be opened");
  std::int32_t next = 0;
  for (std::string line; std::getline(file, line); ++next) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!vocabulary_.emplace(line, next).second) {
      throw std::runtime_error(vocabulary_path.string() + ": line " + std::to_string(next + 1) +
                               " repeats the token " + line);
    }
  }
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (!vocabulary_.contains(token)) {
      throw std::runtime_error(vocabulary_path.string() + ": has no token " + token);
    }
    special_.emplace_back(token, id_of(token));
  }
  unknown_ = id_of("[UNK]");
  begin_ = id_of("[CLS]");
  end_ = id_of("[SEP]");
}

std::int32_t Tokenizer::id_of(std::string_view token) const {
  return vocabulary_.find(token)->second;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  require_utf8(text);
  std::vector<std::int32_t> ids = {begin_};
  // A special token spelled out in the text is that token, before any normalisation; the rest is
  // plain text.
  while (!text.empty()) {
    std::size_t first = text.size();
    const std::pair<std::string, std::int32_t>* token = nullptr;
    for (const auto& candidate : special_) {
      const std::size_t position = text.find(candidate.first);
      if (position < first) {
        first = position;
        token = &candidate;
      }
    }
    append_plain(text.substr(0, first), &ids);
    if (token == nullptr) break;
    ids.push_back(token->second);
    text.remove_prefix(first + token->first.size());
  }
  if (ids.size() > max_tokens_ - 1) ids.resize(max_tokens_ - 1);
  ids.push_back(end_);
  return ids;
}

void Tokenizer::append_plain(std::string_view text, std::vector<std::int32_t>* ids) const {
  for (const std::u32string& word : normalized_words(text)) append_word(word, ids);
}

// Greedy: the longest known piece first, then the longest known continuation of it, and so on.
void Tokenizer::append_word(std::u32string_view word, std::vector<std::int32_t>* ids) const {
  const std::size_t before = ids->size();
  if (word.size() > kMaxWordCharacters) {
    ids->push_back(unknown_);
    return;
  }
  while (!word.empty()) {
    std::size_t length = word.size();
    for (; length > 0; --length) {
      const std::string piece =
          (ids->size() == before ? "" : kContinuation) + to_utf8(word.substr(0, length));
      const auto found = vocabulary_.find(piece);
      if (found != vocabulary_.end()) {
        ids->push_back(found->second);
        break;
      }
    }
    if (length == 0) {  // one unknown piece makes the whole word unknown
      ids->resize(before);
      ids->push_back(unknown_);
      return;
    }
    word.remove_prefix(length);
  }
}

}  // namespace sentence_embedding
