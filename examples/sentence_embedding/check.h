// The proof: same tokens, same embeddings as the fixture, and padding without any effect.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_CHECK_H_
#define SENTENCE_EMBEDDING_CHECK_H_

#include <filesystem>
#include <ostream>

#include "sentence_encoder.h"

namespace sentence_embedding {

// Encodes the sentences of the fixture and writes each figure with its limit. True when all are
// kept:
//   token ids                 equal to the fixture's
//   cosine distance           below 1e-5 to the fixture's embedding, each sentence alone and in one
//   padded batch whose
//                             padding is NaN
//   components                at most 2e-6 from the fixture's, both ways
//   alone against batch       components at most 2e-6 apart
bool check(SentenceEncoder* encoder, const std::filesystem::path& fixture, std::ostream& out);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_CHECK_H_
