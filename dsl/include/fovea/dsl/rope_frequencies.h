// rope_frequencies.h: the angles of rotary positions, plain and scaled to longer contexts. Needs
// nothing but the standard library, so that an application can fill its tables with it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_ROPE_FREQUENCIES_H
#define FOVEA_DSL_ROPE_FREQUENCIES_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea {

// Pair i of rotated features turns by position * frequency[i]; cosines and sines are multiplied by
// `magnitude`, on the query and on the key.
struct RopeFrequencies {
  std::vector<double> frequency;
  double magnitude = 1;
};

// theta^(-2i / dims), i = 0 … dims/2 - 1 (Su et al. 2021, arXiv:2104.09864).
inline RopeFrequencies rope_plain(int64_t dims, double theta = 10000) {
  RopeFrequencies result;
  for (int64_t i = 0; i < dims / 2; ++i) {
    result.frequency.push_back(
        std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dims)));
  }
  return result;
}

// Positions divided by `factor` (position interpolation: Chen et al. 2023, arXiv:2306.15595).
inline RopeFrequencies rope_linear(int64_t dims, double theta, double factor) {
  RopeFrequencies result = rope_plain(dims, theta);
  for (double& f : result.frequency) f /= factor;
  return result;
}

// A larger base, theta * factor^(dims / (dims - 2)): the lowest frequency is divided by `factor`,
// the highest stays ("NTK-aware" scaling, bloc97 2023; Peng et al. 2023, arXiv:2309.00071,
// definition 1). dims > 2.
inline RopeFrequencies rope_ntk(int64_t dims, double theta, double factor) {
  const double exponent = static_cast<double>(dims) / static_cast<double>(dims - 2);
  return rope_plain(dims, theta * std::pow(factor, exponent));
}

struct YarnOptions {
  double factor = 1;              // trained length times this is the new one
  double original_length = 4096;  // trained length
  double beta_fast = 32;          // turns within the trained length from which nothing is scaled
  double beta_slow = 1;           // turns below which a frequency is divided by `factor`
  bool round_bounds = true;       // false: fractional bounds of the ramp (GPT-OSS)
  double attention_factor = 0;    // the magnitude; 0: 0.1 ln(factor) + 1
};

// Frequencies that turn often stay, slow ones are divided by the factor, a linear ramp between
// (YaRN: Peng et al. 2023, arXiv:2309.00071, sections 3.2 to 3.4).
inline RopeFrequencies rope_yarn(int64_t dims, double theta, const YarnOptions& options) {
  RopeFrequencies result = rope_plain(dims, theta);
  // The (fractional) pair that turns `turns` times within the original length.
  const auto pair_of = [&](double turns) {
    constexpr double two_pi = 6.283185307179586;
    return static_cast<double>(dims) * std::log(options.original_length / (turns * two_pi)) /
           (2 * std::log(theta));
  };
  double low = pair_of(options.beta_fast), high = pair_of(options.beta_slow);
  if (options.round_bounds) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dims - 1));
  if (high <= low) high = low + 0.001;  // a step
  for (size_t i = 0; i < result.frequency.size(); ++i) {
    const double scaled =
        std::min(std::max((static_cast<double>(i) - low) / (high - low), 0.0), 1.0);
    result.frequency[i] *= (1 - scaled) + scaled / options.factor;
  }
  result.magnitude = options.attention_factor > 0
                         ? options.attention_factor
                         : (options.factor > 1 ? 0.1 * std::log(options.factor) + 1 : 1.0);
  return result;
}

struct Llama3Options {
  double factor = 8;
  double low_frequency_factor = 1, high_frequency_factor = 4;
  double original_length = 8192;
};

// Wavelengths above original_length / low are divided by the factor, those below original_length /
// high stay, linear in the number of turns between (Llama 3.1: Meta 2024, arXiv:2407.21783, and its
// model code).
inline RopeFrequencies rope_llama3(int64_t dims, double theta, const Llama3Options& options) {
  RopeFrequencies result = rope_plain(dims, theta);
  for (double& f : result.frequency) {
    constexpr double two_pi = 6.283185307179586;
    const double turns = options.original_length * f / two_pi;
    const double kept =
        std::min(std::max((turns - options.low_frequency_factor) /
                              (options.high_frequency_factor - options.low_frequency_factor),
                          0.0),
                 1.0);
    f *= kept + (1 - kept) / options.factor;
  }
  return result;
}

// cosine[position * pairs + i] and sine[…] for positions 0 … positions-1: the tables of rope.h.
inline void fill_rope(const RopeFrequencies& rope, int64_t positions, float* cosine, float* sine) {
  for (int64_t p = 0; p < positions; ++p) {
    for (const double f : rope.frequency) {
      const double angle = static_cast<double>(p) * f;
      *cosine++ = static_cast<float>(std::cos(angle) * rope.magnitude);
      *sine++ = static_cast<float>(std::sin(angle) * rope.magnitude);
    }
  }
}

}  // namespace fovea

#endif
