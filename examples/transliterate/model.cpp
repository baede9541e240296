// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "name_parts.h"

namespace transliterate {
namespace {

// More than any model of this kind reads or writes; a damaged file must not make memory run out.
constexpr std::int64_t kMostTokens = 4096;
constexpr std::int64_t kMostBeams = 16;

}  // namespace

Settings Settings::read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) {
    throw std::runtime_error(file.string() + ": cannot be opened");
  }
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object()) throw std::runtime_error(file.string() + ": is not a JSON object");
  const auto value = [&](const std::string& path) {
    const auto pointer = nlohmann::json::json_pointer(path);
    return json.contains(pointer) ? json.at(pointer) : nlohmann::json();
  };
  const auto fail = [&](const std::string& path, const std::string& allowed) {
    const auto found = value(path);
    throw std::runtime_error(file.string() + ": " + path.substr(1) + " is " +
                             (found.is_null() ? "missing" : found.dump()) + ", expected " +
                             allowed);
  };
  const auto require = [&](const std::string& path, const nlohmann::json& expected) {
    if (value(path) != expected) fail(path, expected.dump());
  };
  const auto count = [&](const std::string& path, std::int64_t least, std::int64_t most) {
    const auto found = value(path);
    if (!found.is_number_integer() || found.get<std::int64_t>() < least ||
        found.get<std::int64_t>() > most) {
      fail(path, std::to_string(least) + " to " + std::to_string(most));
    }
    return found.get<std::int64_t>();
  };
  require("/arch", "gru");
  require("/config/d_model", kFeatures);
  require("/config/num_layers", kLayers);
  Settings settings;
  settings.beam = count("/beam_width", 1, kMostBeams);
  settings.source_tokens = count("/config/max_src_len", 4, kMostTokens);
  settings.target_tokens = count("/max_tgt_len", 2, kMostTokens);
  if (!value("/length_alpha").is_number()) fail("/length_alpha", "a number");
  settings.length_alpha = value("/length_alpha").get<double>();
  return settings;
}

Model::Model(const std::filesystem::path& folder, int threads)
    : settings_(Settings::read(folder / "meta.json")),
      vocabulary_(folder / "vocab.json"),
      weights_(folder / "model.safetensors", vocabulary_.size()),
      decoder_(weights_, threads) {
  use_one_thread();
}

std::vector<Part> Model::parts_of(const std::string& name, const Hint& hint) const {
  std::vector<std::string> texts = split_parts(normalize(name));
  if (texts.empty()) texts.emplace_back();  // encode() says what is wrong with it
  const std::vector<std::string> roles = roles_of(texts.size());
  const auto most = static_cast<std::size_t>(settings_.source_tokens);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Hint of_part = {hint.country, hint.role.empty() ? roles[i] : hint.role};
    try {
      parts.push_back({texts[i], vocabulary_.encode(texts[i], of_part, most)});
    } catch (const std::exception& error) {
      if (texts.size() == 1) throw;
      throw std::runtime_error("part " + std::to_string(i + 1) + ": " + error.what());
    }
  }
  return parts;
}

Search Model::search(std::int64_t beam) const {
  return {beam > 0 ? beam : settings_.beam, settings_.target_tokens, settings_.length_alpha};
}

std::vector<std::vector<Hypothesis>> Model::spell(const std::vector<TokenIds>& sources,
                                                  const Search& search, std::size_t batch) {
  std::vector<std::vector<Hypothesis>> results;
  for (std::size_t begin = 0; begin < sources.size(); begin += batch) {
    const std::size_t end = std::min(begin + batch, sources.size());
    const std::vector<TokenIds> some(sources.begin() + static_cast<std::ptrdiff_t>(begin),
                                     sources.begin() + static_cast<std::ptrdiff_t>(end));
    for (auto& hypotheses : beam_search(&decoder_, vocabulary_, encode(weights_, some), search)) {
      results.push_back(std::move(hypotheses));
    }
  }
  return results;
}

}  // namespace transliterate
