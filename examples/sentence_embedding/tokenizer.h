// BERT's uncased WordPiece tokenizer: UTF-8 text to token ids, id for id what the model was trained
// with.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_TOKENIZER_H_
#define SENTENCE_EMBEDDING_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sentence_embedding {

class Tokenizer {
 public:
  // Reads vocab.txt, tokenizer_config.json and sentence_bert_config.json of a model folder.
  explicit Tokenizer(const std::filesystem::path& model);

  // [CLS] pieces [SEP], at most max_tokens(). Throws std::runtime_error on text that is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;

  std::size_t max_tokens() const { return max_tokens_; }
  std::size_t vocabulary_size() const { return vocabulary_.size(); }

 private:
  struct Hash {  // lets the vocabulary be searched for parts of a word without copying them
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::int32_t id_of(std::string_view token) const;
  void append_plain(std::string_view text, std::vector<std::int32_t>* ids) const;
  void append_word(std::u32string_view word, std::vector<std::int32_t>* ids) const;

  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> vocabulary_;
  std::vector<std::pair<std::string, std::int32_t>> special_;  // "[CLS]", … as they stand in a text
  std::int32_t unknown_ = 0;
  std::int32_t begin_ = 0;
  std::int32_t end_ = 0;
  std::size_t max_tokens_ = 0;
};

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_TOKENIZER_H_
