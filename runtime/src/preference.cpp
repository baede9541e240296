// SPDX-License-Identifier: Apache-2.0
#include "preference.h"

#include <string.h>

namespace fovea::detail {
namespace {

struct Exception {
  const char* target;
  fovea_dtype dtype;
  CpuFamily family;
  int32_t preference;
  const char* reason;
};

// Names by symbol, so that a row for a target that does not exist does not compile.
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  constexpr const char* kNameOf_##symbol = name;
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW

constexpr Exception kExceptions[] = {
#define FOVEA_TARGET_PREFERENCE(symbol, dtype, family, preference, reason) \
  {kNameOf_##symbol, FOVEA_##dtype, CpuFamily::k##family, preference, reason},
#include <fovea/target_preferences.def>
#undef FOVEA_TARGET_PREFERENCE
};

}  // namespace

Preference preference_of(const fovea_target_info& target, fovea_dtype dtype, CpuFamily family) {
  for (const Exception& exception : kExceptions) {
    if (exception.dtype == dtype && exception.family == family &&
        strcmp(exception.target, target.name) == 0)
      return {exception.preference, exception.reason};
  }
  return {target.preference, nullptr};
}

}  // namespace fovea::detail
