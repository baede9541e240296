// random.h: random numbers of tests, the same on every platform, replayable by a seed.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_RANDOM_H
#define FOVEA_TESTS_SUPPORT_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <string>

namespace fovea::test {

// The environment variable FOVEA_TEST_SEED, else a fixed number: a run repeats unless asked not to.
uint64_t base_seed();

// SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators): one word
// of state, so that a generator for a single number costs no more than the number.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // A sequence of its own for each name and number, all of them moved by the base seed.
  Random(const std::string& name, uint64_t number);

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t integer(int64_t low, int64_t high) {  // both ends included
    return low + static_cast<int64_t>(bits() % (static_cast<uint64_t>(high - low) + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
  }
  // Nearly normal with standard deviation 1, never beyond 3.5.
  float normal();
  bool chance(double probability) { return real(0, 1) < probability; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[integer(0, static_cast<int64_t>(values.size()) - 1)];
  }

 private:
  uint64_t state_ = 0;
};

}  // namespace fovea::test

#endif
