// Compares with a fixture: tokens, results, scores, probabilities, attention weights.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <ostream>

#include "model.h"

namespace transliterate {

// One line for each comparison; true when all passed.
bool check(Model* model, const std::filesystem::path& fixture, std::ostream& out);

}  // namespace transliterate
