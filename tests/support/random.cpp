// SPDX-License-Identifier: Apache-2.0
#include "random.h"

#include <cstdlib>

namespace fovea::test {

uint64_t base_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("FOVEA_TEST_SEED");
    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : uint64_t{1};
  }();
  return seed;
}

Random::Random(const std::string& name, uint64_t number) {
  uint64_t hash = 0xcbf29ce484222325u ^ base_seed() * 0x9e3779b97f4a7c15u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  state_ = hash + number * 0xda942042e4dd58b5u;
}

float Random::normal() {
  // Four uniform numbers of variance 1/12 each.
  double sum = -2.0;
  for (int i = 0; i < 4; ++i) sum += real(0, 1);
  return static_cast<float>(sum * 1.7320508);
}

}  // namespace fovea::test
