// What another implementation makes of a list of names (fixture/make_fixture.py).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "beam_search.h"
#include "vocabulary.h"

namespace transliterate {

struct FixtureStep {
  std::int32_t token = 0;  // that the step was made with
  double log_probability = 0;
  std::vector<std::pair<std::int32_t, double>> best;  // the most probable tokens
  std::vector<double> weights;                        // of attention, one for each source token
  double soft_log_probability = 0;  // of `token`, scores times Fixture::soft_scale
  std::vector<double> soft_weights;
};

struct FixturePart {
  std::string text;
  TokenIds ids;
  std::map<std::int64_t, std::vector<Hypothesis>> hypotheses;  // by width of the beam
  std::vector<FixtureStep> steps;
};

struct FixtureName {
  std::string name;
  Hint hint;
  std::vector<FixturePart> parts;
};

struct Fixture {
  std::string origin;  // what computed it, with versions
  float soft_scale = 1;
  std::vector<FixtureName> names;

  // Throws std::runtime_error naming the file.
  static Fixture read(const std::filesystem::path& file);
};

}  // namespace transliterate
