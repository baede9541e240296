// How far two runs are apart.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_COMPARE_H_
#define GENERATE_COMPARE_H_

#include <cstddef>
#include <vector>

#include "transformer.h"

namespace generate {

// Tokens until the first that differs.
std::size_t common_tokens(const Tokens& a, const Tokens& b);

// Of two sets of logits, or of all sets of two runs along the same text. Infinite if a number is
// none, or the sets are not of one size.
double max_error(const std::vector<float>& a, const std::vector<float>& b);
double max_error(const std::vector<std::vector<float>>& a,
                 const std::vector<std::vector<float>>& b);
double mean_error(const std::vector<std::vector<float>>& a,
                  const std::vector<std::vector<float>>& b);

}  // namespace generate

#endif  // GENERATE_COMPARE_H_
