// SPDX-License-Identifier: Apache-2.0
#include "every_target.h"

#include <string>

namespace fovea::test {

EveryTarget::EveryTarget() : variant{"v", 0, nullptr, 0, 0, 1, 0} {
  targets = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, needed) \
  {name, architecture, needed, preference},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
  };
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
    for (size_t i = 0; i < targets.size(); ++i) {
      // As the generator has it: targets for one of the 16-bit types have kernels of that type
      // only.
      const std::string name = targets[i].name;
      if (name.find("-bf16") != std::string::npos && dtype != FOVEA_BF16) continue;
      if (name.find("-fp16") != std::string::npos && dtype != FOVEA_F16) continue;
      kernels.push_back({targets[i].name, 0, static_cast<int32_t>(i), FOVEA_PREFILL, dtype,
                         FOVEA_CACHE_NONE, 64, 64, 8, 0, nullptr, nullptr, 0, 0});
    }
  }
  library = {FOVEA_ABI_VERSION, "every",
             &variant,          1,
             targets.data(),    static_cast<int32_t>(targets.size()),
             kernels.data(),    static_cast<int32_t>(kernels.size())};
}

int32_t EveryTarget::choose(fovea_dtype dtype, const detail::Capabilities& capabilities) const {
  return select_kernel(library, {0, FOVEA_PREFILL, dtype, FOVEA_CACHE_NONE, 64, 64}, capabilities);
}

}  // namespace fovea::test
