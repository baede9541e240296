// samples.cpp: repeated measurements and what to say of them.
// SPDX-License-Identifier: Apache-2.0
#include "bench/samples.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace fovea::bench {
namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double Samples::minimum() const {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double Samples::maximum() const {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

double Samples::median() const { return median_of(values); }

double Samples::mad() const {
  const double m = median();
  std::vector<double> deviations;
  for (const double v : values) deviations.push_back(std::fabs(v - m));
  return median_of(deviations);
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line, model, family, number;
  while (std::getline(in, line) && !line.empty()) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) model = line.substr(colon + 2);
    if (line.starts_with("cpu family")) family = line.substr(colon + 2);
    if (line.starts_with("model\t")) number = line.substr(colon + 2);
  }
  // Virtual machines often hide the name proper; family and model tell the design.
  return model + " (family " + family + ", model " + number + ")";
}

}  // namespace fovea::bench
