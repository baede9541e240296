// SPDX-License-Identifier: Apache-2.0
#include "targets.h"

#include <string.h>

#include <atomic>

namespace fovea::detail {
namespace {

constexpr const char* kNames[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, needed) name,
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
};
constexpr const char* kArchitectures[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, needed) architecture,
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
};
constexpr int kCount = static_cast<int>(sizeof(kNames) / sizeof(kNames[0]));
// The 64th bit tells "no restriction" from "every known target": a library may bring targets
// unknown here.
static_assert(kCount < 64, "targets.def: too many rows for one word");

std::atomic<uint64_t> enabled_mask{kAllTargetsEnabled};

}  // namespace

int known_target(const char* name, size_t length) {
  for (int row = 0; row < kCount; ++row) {
    if (strlen(kNames[row]) == length && memcmp(kNames[row], name, length) == 0) return row;
  }
  return -1;
}

const char* target_architecture(const fovea_library_info& library, const char* name) {
  for (int32_t i = 0; i < library.target_count; ++i) {
    if (strcmp(library.targets[i].name, name) == 0) return library.targets[i].architecture;
  }
  const int row = known_target(name, strlen(name));
  return row >= 0 ? kArchitectures[row] : "unknown";
}

void append_known_targets(Text& text) {
  for (int row = 0; row < kCount; ++row) text.append("%s%s", row == 0 ? "" : ", ", kNames[row]);
}

uint64_t enabled_targets() { return enabled_mask.load(std::memory_order_acquire); }

bool target_enabled(uint64_t enabled, const char* name) {
  if (enabled == kAllTargetsEnabled) return true;
  const int row = known_target(name, strlen(name));
  return row >= 0 && ((enabled >> row) & 1) != 0;
}

}  // namespace fovea::detail

extern "C" fovea_status fovea_set_enabled_targets(const char* names) {
  using namespace fovea::detail;
  uint64_t mask = names == nullptr ? kAllTargetsEnabled : 0;
  for (const char* name = names; name != nullptr;) {
    const char* comma = strchr(name, ',');
    const size_t length = comma != nullptr ? static_cast<size_t>(comma - name) : strlen(name);
    const int row = known_target(name, length);
    if (row < 0) {
      Text text = message_text();
      text.append("enabled targets: \"%.*s\" is not a target; allowed: a comma-separated list of ",
                  static_cast<int>(length < 64 ? length : 64), name);
      append_known_targets(text);
      return FOVEA_INVALID_ARGUMENT;
    }
    mask |= UINT64_C(1) << row;
    name = comma != nullptr ? comma + 1 : nullptr;
  }
  enabled_mask.store(mask, std::memory_order_release);
  clear_message();
  return FOVEA_OK;
}
