// samples.h: repeated measurements and what to say of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_SAMPLES_H
#define FOVEA_BENCH_SAMPLES_H

#include <chrono>
#include <string>
#include <vector>

namespace fovea::bench {

struct Samples {
  std::vector<double> values;

  double minimum() const;
  double maximum() const;
  double median() const;
  double mad() const;  // median of the absolute deviations from the median
};

template <typename F>
double seconds_of(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// "AMD EPYC 9B14": the model name of this CPU.
std::string cpu_name();

}  // namespace fovea::bench

#endif
