// Reading a JSON file of the model folder, with errors that name the file.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_JSON_FILE_H_
#define SENTENCE_EMBEDDING_JSON_FILE_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace sentence_embedding {

// Throws std::runtime_error when the file cannot be read or is not JSON.
nlohmann::json read_json(const std::filesystem::path& path);

// Fails with "FILE: KEY is FOUND, only EXPECTED is supported" unless the file says `expected`. A
// missing key counts as `expected` if `optional`, since older model folders leave defaults out.
void require_setting(const nlohmann::json& object, const std::filesystem::path& path,
                     const std::string& key, const nlohmann::json& expected, bool optional = false);

// A positive integer, at most 2^31 - 1.
int require_count(const nlohmann::json& object, const std::filesystem::path& path,
                  const std::string& key);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_JSON_FILE_H_
