// visibility.h: which keys a query may see, from the mask of the declaration alone.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_VISIBILITY_H
#define FOVEA_TESTS_SUPPORT_VISIBILITY_H

#include <vector>

#include "problem.h"

namespace fovea::test {

// For each of the first `keys` keys (fewer than there are, or more), 1 if row i of head h of
// sequence b sees it. Positions are those of the call of the problem.
std::vector<char> visible_keys(const Problem& problem, int64_t b, int64_t h, int64_t i,
                               int64_t keys);

}  // namespace fovea::test

#endif
