// SPDX-License-Identifier: Apache-2.0
#include "json_file.h"

#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace sentence_embedding {

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  nlohmann::json value = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) throw std::runtime_error(path.string() + ": is not a JSON object");
  return value;
}

void require_setting(const nlohmann::json& object, const std::filesystem::path& path,
                     const std::string& key, const nlohmann::json& expected, bool optional) {
  const auto found = object.find(key);
  if (found == object.end() && optional) return;
  if (found != object.end() && *found == expected) return;
  throw std::runtime_error(path.string() + ": " + key + " is " +
                           (found == object.end() ? std::string("missing") : found->dump()) +
                           ", only " + expected.dump() + " is supported");
}

int require_count(const nlohmann::json& object, const std::filesystem::path& path,
                  const std::string& key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_unsigned()) {
    const auto value = found->get<std::uint64_t>();
    if (value >= 1 && value <= std::numeric_limits<std::int32_t>::max()) {
      return static_cast<int>(value);
    }
  }
  throw std::runtime_error(path.string() + ": " + key + " is " +
                           (found == object.end() ? std::string("missing") : found->dump()) +
                           ", expected a positive integer");
}

}  // namespace sentence_embedding
