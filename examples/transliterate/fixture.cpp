// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace transliterate {
namespace {

FixturePart read_part(const nlohmann::json& json) {
  FixturePart part;
  part.text = json.at("unit").get<std::string>();
  part.ids = json.at("ids").get<TokenIds>();
  for (const auto& row : json.at("hypotheses")) {
    auto& found = part.hypotheses[row.at("beam").get<std::int64_t>()];
    for (const auto& [text, score] :
         row.at("found").get<std::vector<std::pair<std::string, double>>>()) {
      found.push_back({text, score});
    }
  }
  for (const auto& row : json.at("steps")) {
    FixtureStep step;
    step.token = row.at("token").get<std::int32_t>();
    step.log_probability = row.at("log_probability").get<double>();
    step.best = row.at("best").get<std::vector<std::pair<std::int32_t, double>>>();
    step.weights = row.at("weights").get<std::vector<double>>();
    step.soft_log_probability = row.at("soft_log_probability").get<double>();
    step.soft_weights = row.at("soft_weights").get<std::vector<double>>();
    part.steps.push_back(std::move(step));
  }
  return part;
}

}  // namespace

Fixture Fixture::read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) {
    throw std::runtime_error(file.string() + ": cannot be opened");
  }
  Fixture fixture;
  try {
    const auto json = nlohmann::json::parse(stream);
    fixture.origin = json.at("origin").get<std::string>();
    fixture.soft_scale = json.at("soft_scale").get<float>();
    for (const auto& row : json.at("names")) {
      FixtureName name;
      name.name = row.at("name").get<std::string>();
      name.hint = {row.at("country").get<std::string>(), row.at("role").get<std::string>()};
      for (const auto& part : row.at("units")) name.parts.push_back(read_part(part));
      fixture.names.push_back(std::move(name));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(file.string() + ": is not a fixture: " + error.what());
  }
  if (fixture.names.empty()) throw std::runtime_error(file.string() + ": has no names");
  return fixture;
}

}  // namespace transliterate
