// What PyTorch generates, read from a JSON file that train/make_fixture.py wrote.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_FIXTURE_H_
#define GENERATE_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transformer.h"

namespace generate {

struct FixtureCase {
  Tokens prompt;
  std::int32_t window = 0, sinks = 0;
  Tokens tokens;                           // the most probable ones, of all of the text so far
  std::vector<std::size_t> steps;          // for which there are logits
  std::vector<std::vector<float>> logits;  // [steps, vocabulary]
  double margin = 0;                       // least distance of the two largest logits
};

struct Fixture {
  std::string origin;
  std::vector<FixtureCase> cases;
};

// Throws std::runtime_error that names the file.
Fixture read_fixture(const std::filesystem::path& path);

}  // namespace generate

#endif  // GENERATE_FIXTURE_H_
