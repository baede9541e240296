// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>

namespace sentence_embedding {
namespace {

constexpr std::size_t kMatrixLimit = 12;  // columns of 7 characters that fit a line of 100
constexpr std::size_t kPairLimit = 10;

struct Pair {
  std::size_t first = 0;
  std::size_t second = 0;
  double similarity = 0;
};

std::vector<Pair> closest_pairs(const std::vector<EmbeddedSentence>& sentences) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    for (std::size_t j = i + 1; j < sentences.size(); ++j) {
      pairs.push_back({i, j, cosine_similarity(sentences[i].embedding, sentences[j].embedding)});
    }
  }
  const std::size_t kept = std::min(pairs.size(), kPairLimit);
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.end(),
                    [](const Pair& a, const Pair& b) { return a.similarity > b.similarity; });
  pairs.resize(kept);
  return pairs;
}

void print_matrix(const std::vector<EmbeddedSentence>& sentences, std::ostream& out) {
  out << "\nCosine similarity\n      ";
  for (std::size_t j = 0; j < sentences.size(); ++j) out << std::setw(7) << j + 1;
  out << '\n';
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    out << std::setw(6) << i + 1;
    for (const EmbeddedSentence& other : sentences) {
      out << std::setw(7) << cosine_similarity(sentences[i].embedding, other.embedding);
    }
    out << '\n';
  }
}

}  // namespace

void print_text(const std::vector<EmbeddedSentence>& sentences, const Timing& timing,
                std::ostream& out) {
  out << std::fixed << std::setprecision(3);
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    out << std::setw(3) << i + 1 << "  " << sentences[i].text << '\n';
    tokens += sentences[i].tokens;
  }
  if (sentences.size() <= kMatrixLimit) print_matrix(sentences, out);
  out << "\nMost similar pairs\n";
  for (const Pair& pair : closest_pairs(sentences)) {
    out << "  " << pair.similarity << "  " << sentences[pair.first].text << "  |  "
        << sentences[pair.second].text << '\n';
  }
  out << '\n'
      << sentences.size() << " sentences, " << tokens << " tokens in " << timing.total_seconds * 1e3
      << " ms, attention " << timing.attention_seconds * 1e3 << " ms\n";
}

void print_json(const std::vector<EmbeddedSentence>& sentences, const Timing& timing,
                std::ostream& out) {
  nlohmann::json json;
  json["dimension"] = sentences.empty() ? 0 : sentences.front().embedding.size();
  json["sentences"] = nlohmann::json::array();
  json["similarity"] = nlohmann::json::array();
  for (const EmbeddedSentence& sentence : sentences) {
    json["sentences"].push_back(
        {{"text", sentence.text}, {"tokens", sentence.tokens}, {"embedding", sentence.embedding}});
    auto row = nlohmann::json::array();
    for (const EmbeddedSentence& other : sentences) {
      row.push_back(cosine_similarity(sentence.embedding, other.embedding));
    }
    json["similarity"].push_back(std::move(row));
  }
  json["total_s"] = timing.total_seconds;
  json["attention_s"] = timing.attention_seconds;
  out << json.dump() << '\n';
}

}  // namespace sentence_embedding
