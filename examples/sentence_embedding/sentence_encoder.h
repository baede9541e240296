// A model folder as one object: sentences in, unit vectors out.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_SENTENCE_ENCODER_H_
#define SENTENCE_EMBEDDING_SENTENCE_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "bert.h"
#include "pooling.h"
#include "safetensors.h"
#include "tokenizer.h"

namespace sentence_embedding {

using TokenIds = std::vector<std::int32_t>;

class SentenceEncoder {
 public:
  // Reads and checks the whole folder; throws std::runtime_error naming the file. threads 0: as
  // many as this process may use, for the attention as for the matrix products.
  SentenceEncoder(const std::filesystem::path& model, int threads);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  Bert& bert() { return bert_; }
  std::int64_t dimension() const { return config_.hidden; }

  // Runs the sentences as one padded batch.
  std::vector<Embedding> encode_batch(const std::vector<TokenIds>& sentences,
                                      Padding padding = Padding::Zero);

  // Runs any number of sentences in batches of at most batch_size, similar lengths together.
  std::vector<Embedding> encode(const std::vector<TokenIds>& sentences, std::size_t batch_size);

 private:
  BertConfig config_;
  Tokenizer tokenizer_;
  Safetensors weights_;
  Bert bert_;
};

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_SENTENCE_ENCODER_H_
