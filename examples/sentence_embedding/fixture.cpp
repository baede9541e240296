// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <stdexcept>
#include <utility>

#include "json_file.h"

namespace sentence_embedding {

Fixture read_fixture(const std::filesystem::path& path) {
  const auto json = read_json(path);
  Fixture fixture;
  try {
    fixture.origin = json.at("origin").get<std::string>();
    for (const auto& row : json.at("sentences")) {
      FixtureSentence sentence;
      sentence.text = row.at("text").get<std::string>();
      sentence.ids = row.at("ids").get<std::vector<std::int32_t>>();
      sentence.embedding = row.at("embedding").get<std::vector<float>>();
      fixture.sentences.push_back(std::move(sentence));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path.string() + ": is not a fixture: " + error.what());
  }
  if (fixture.sentences.empty()) throw std::runtime_error(path.string() + ": has no sentences");
  return fixture;
}

}  // namespace sentence_embedding
