// Token vectors to sentence vectors, and their comparison.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_POOLING_H_
#define SENTENCE_EMBEDDING_POOLING_H_

#include <cstdint>
#include <vector>

namespace sentence_embedding {

using Embedding = std::vector<float>;

// The mean of the first `length` rows of states [tokens, width], scaled to Euclidean length 1.
Embedding mean_pool(const float* states, std::int64_t length, std::int64_t width);

// In double, and not relying on the vectors' lengths. 1 for the same direction.
double cosine_similarity(const Embedding& a, const Embedding& b);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_POOLING_H_
