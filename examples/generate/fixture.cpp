// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace generate {

Fixture read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("--check " + path.string() + ": cannot be opened");
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    Fixture fixture;
    fixture.origin = json.at("origin").get<std::string>();
    for (const auto& row : json.at("cases")) {
      FixtureCase c;
      c.prompt = row.at("prompt").get<Tokens>();
      c.window = row.at("window").get<std::int32_t>();
      c.sinks = row.at("sinks").get<std::int32_t>();
      c.tokens = row.at("tokens").get<Tokens>();
      c.steps = row.at("steps").get<std::vector<std::size_t>>();
      c.logits = row.at("logits").get<std::vector<std::vector<float>>>();
      c.margin = row.at("margin").get<double>();
      bool fits = !c.prompt.empty() && !c.tokens.empty() && c.steps.size() == c.logits.size();
      for (const std::size_t step : c.steps) fits = fits && step < c.tokens.size();
      for (const auto& logits : c.logits) fits = fits && logits.size() == 256;
      if (!fits)
        throw std::runtime_error("the lengths in case " + std::to_string(fixture.cases.size()) +
                                 " do not fit");
      fixture.cases.push_back(std::move(c));
    }
    if (fixture.cases.empty()) throw std::runtime_error("there are no cases");
    return fixture;
  } catch (const std::exception& error) {
    throw std::runtime_error("--check " + path.string() + ": is no fixture: " + error.what());
  }
}

}  // namespace generate
