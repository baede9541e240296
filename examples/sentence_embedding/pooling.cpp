// SPDX-License-Identifier: Apache-2.0
#include "pooling.h"

#include <algorithm>
#include <cmath>

namespace sentence_embedding {

Embedding mean_pool(const float* states, std::int64_t length, std::int64_t width) {
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t t = 0; t < length; ++t) {
    for (double& sum : sums) sum += *states++;
  }
  double squares = 0;
  for (const double sum : sums) squares += sum * sum;
  // The direction of the mean is the direction of the sum. 1e-12 as in PyTorch's normalize: a zero
  // vector stays zero.
  const double norm = std::max(std::sqrt(squares), 1e-12 * static_cast<double>(length));
  Embedding embedding(sums.size());
  std::transform(sums.begin(), sums.end(), embedding.begin(),
                 [norm](double sum) { return static_cast<float>(sum / norm); });
  return embedding;
}

double cosine_similarity(const Embedding& a, const Embedding& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace sentence_embedding
