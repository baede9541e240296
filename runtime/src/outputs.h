// The outputs of a call besides the attention itself: the one list that checks and work items go
// by. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_OUTPUTS_H
#define FOVEA_OUTPUTS_H

#include <fovea/registry.h>

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

// The tensors that tables must not overlap.
struct Outputs {
  struct Named {
    const char* name;
    const fovea_tensor* tensor;
  };
  Named list[1 + kExtraOutputCount];
  int count = 0;

  void add(const char* name, const fovea_tensor& tensor) { list[count++] = {name, &tensor}; }
};
// out and every extra output that the call wants.
inline Outputs outputs_of(const fovea_call& call) {
  Outputs outputs;
  outputs.add("out", call.out);
  for (const ExtraOutput& extra : kExtraOutputs) {
    if (is_wanted(call, extra)) outputs.add(extra.name, call.*extra.field);
  }
  return outputs;
}

}  // namespace fovea::detail
#endif
