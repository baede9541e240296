// SPDX-License-Identifier: Apache-2.0
#include "cpu_detect.h"

#include <atomic>

namespace fovea::detail {
namespace {

#if defined(__x86_64__) || defined(__i386__)
constexpr bool kOnX86 = true;
#else
constexpr bool kOnX86 = false;
#endif
#if defined(__aarch64__)
constexpr bool kOnArm64 = true;
#else
constexpr bool kOnArm64 = false;
#endif

// Feature lists are words; one bit must stay free as the "detected" flag below, and no two features
// may share a bit.
constexpr uint64_t kDetected = UINT64_C(1) << FOVEA_CPU_LAST_BIT_;
constexpr uint64_t kMasks[] = {
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) FOVEA_CPU_MASK(enumerator),
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
};

constexpr bool share_a_bit() {
  uint64_t seen = kDetected;
  for (const uint64_t mask : kMasks) {
    if ((seen & mask) != 0) return true;
    seen |= mask;
  }
  return false;
}
static_assert(!share_a_bit(), "two features in cpu_features.def share a bit, or one has bit 63");

constexpr uint64_t all_masks() {
  uint64_t all = 0;
  for (const uint64_t mask : kMasks) all |= mask;
  return all;
}

}  // namespace

uint64_t cpu_features() {
  // Detection gives the same answer every time, so racing first calls may all store it.
  static std::atomic<uint64_t> cached{0};
  uint64_t known = cached.load(std::memory_order_relaxed);
  if (known == 0) {
    known = kDetected;
    if constexpr (kOnX86) known |= x86_features(read_x86_leaves());
    if constexpr (kOnArm64) known |= arm64_features(read_arm64_words());
    cached.store(known, std::memory_order_relaxed);
  }
  return known & ~kDetected;
}

const char* cpu_architecture() { return kOnX86 ? "x86" : kOnArm64 ? "arm64" : "unknown"; }

void append_feature_names(Text& text, uint64_t features, const char* separator) {
  const char* before = "";
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) \
  if ((features & FOVEA_CPU_MASK(enumerator)) != 0) {          \
    text.append("%s%s", before, name);                         \
    before = separator;                                        \
  }
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
  // A library may have been generated with a longer list than this runtime's.
  for (int index = 0; index < 64; ++index) {
    const uint64_t mask = UINT64_C(1) << index;
    if ((features & mask) == 0 || (all_masks() & mask) != 0) continue;
    text.append("%sfeature bit %d", before, index);
    before = separator;
  }
}

}  // namespace fovea::detail

extern "C" size_t fovea_cpu_features(char* text, size_t capacity) {
  fovea::detail::Text names(text, capacity);
  fovea::detail::append_feature_names(names, fovea::detail::cpu_features(), ",");
  return names.length();
}
