// The story of why attention works, measured on names: where the recurrent states forget, and what
// is lost when the decoder may not look back.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <vector>

#include "model.h"

namespace transliterate {

// Four tables. Results are compared with the model's own; no reference spelling is needed.
void tell_story(Model* model, const std::vector<Part>& parts, std::ostream& out);

}  // namespace transliterate
