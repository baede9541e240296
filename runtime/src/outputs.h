// The outputs of a call besides the attention itself: the one list that checks and work items go
// by. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_OUTPUTS_H
#define FOVEA_OUTPUTS_H

#include <fovea/registry.h>

#include "views.h"

namespace fovea::detail {

struct ExtraOutput {
  const char* name;  // of the call's field, and of the word in v.returns(…)
  uint32_t bit;      // in fovea_variant_info.outputs
  fovea_tensor fovea_call::* field;
  bool is_per_key;  // [B, Hq, Sq, Skv], else [B, Hq, Sq, 1]
};

// In the order in which kernels take them.
inline constexpr ExtraOutput kExtraOutputs[] = {
    {"lse", FOVEA_OUTPUT_LSE, &fovea_call::lse, false},
    {"row_max", FOVEA_OUTPUT_ROW_MAX, &fovea_call::row_max, false},
    {"row_sum", FOVEA_OUTPUT_ROW_SUM, &fovea_call::row_sum, false},
    {"probabilities", FOVEA_OUTPUT_PROBABILITIES, &fovea_call::probabilities, true},
};
constexpr int kExtraOutputCount = sizeof(kExtraOutputs) / sizeof(kExtraOutputs[0]);

inline bool is_wanted(const fovea_call& call, const ExtraOutput& output) {
  return (call.*output.field).data != nullptr;
}

// What tables must not overlap.
struct OutputViews {
  View views[1 + kExtraOutputCount];
  int count;
};
// out and every extra output that the call wants.
inline OutputViews output_views(const fovea_call& call) {
  OutputViews outputs = {};
  outputs.views[outputs.count++] = tensor_view("out", call.out);
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (is_wanted(call, extra))
      outputs.views[outputs.count++] = tensor_view(extra.name, call.*extra.field);
  }
  return outputs;
}

}  // namespace fovea::detail
#endif
