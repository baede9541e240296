// The one place that calls the generated library: self-attention of a padded batch.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_ATTENTION_H_
#define SENTENCE_EMBEDDING_ATTENTION_H_

#include <fovea/fovea.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sentence_embedding {

// Query, key and value projections of a batch as they come out of the matrix products: one row per
// token, which holds [query | key | value], each of them [heads, head_dim].
struct Projections {
  const float* data = nullptr;
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  // per sequence, with padding
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
};

class SelfAttention {
 public:
  // At most `threads` at once; 0: as many as this process may use.
  explicit SelfAttention(int threads);

  // out [batch, tokens, heads · head_dim]. lengths [batch]: rows behind a sequence's length are
  // neither read as keys nor written. Throws std::runtime_error with the library's message.
  void run(const Projections& projections, const std::vector<std::int32_t>& lengths, float* out);

  // Which kernel the library takes for the last call and why, for people.
  const std::string& explanation() const { return explanation_; }
  // Asks for it; it costs more than the choice itself.
  void keep_explanation() { explain_ = true; }

 private:
  fovea_exec exec_ = {};
  std::vector<std::byte> workspace_;  // kept: layers and batches of one size share it
  std::string explanation_;
  bool explain_ = false;
};

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_ATTENTION_H_
