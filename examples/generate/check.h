// --check: every cache against PyTorch's text and logits.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_CHECK_H_
#define GENERATE_CHECK_H_

#include <filesystem>
#include <ostream>

#include "transformer.h"

namespace generate {

// True if all is as it has to be. Says so line by line.
bool check(const Transformer& model, const std::filesystem::path& fixture, int threads,
           std::ostream& out);

}  // namespace generate

#endif  // GENERATE_CHECK_H_
