// Sentences with the token ids and embeddings that another implementation computed for them
// (fixture/make_fixture.py).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_FIXTURE_H_
#define SENTENCE_EMBEDDING_FIXTURE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sentence_embedding {

struct FixtureSentence {
  std::string text;
  std::vector<std::int32_t> ids;
  std::vector<float> embedding;
};

struct Fixture {
  std::string origin;  // what computed it, with versions
  std::vector<FixtureSentence> sentences;
};

// Throws std::runtime_error naming the file.
Fixture read_fixture(const std::filesystem::path& path);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_FIXTURE_H_
