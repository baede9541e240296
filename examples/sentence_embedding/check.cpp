// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixture.h"

namespace sentence_embedding {
namespace {

constexpr double kMaxCosineDistance = 1e-5;
// Another implementation sums in another order; PyTorch's own float32 is 1.9e-7 away from its
// float64 on the fixture. This is the sharper of the two limits: a cosine forgives errors that are
// at right angles to the embedding.
constexpr double kMaxComponentDifference = 2e-6;
// Alone and batched differ in the order of summation only: matrix products of other sizes are split
// otherwise. Components are about 0.05 with 24 bits, six layers deep; observed are 1e-7 to 3e-7.
constexpr double kMaxBatchDifference = 2e-6;

double max_abs_difference(const Embedding& a, const Embedding& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return worst;
}

// 1 - cosine; infinite where there is no angle, since a NaN would get lost in a maximum.
double cosine_distance(const Embedding& a, const Embedding& b) {
  const double distance = 1 - cosine_similarity(a, b);
  return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

std::string lengths_text(const std::vector<TokenIds>& ids) {
  const auto [low, high] = std::minmax_element(
      ids.begin(), ids.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return std::to_string(low->size()) + " to " + std::to_string(high->size());
}

}  // namespace

bool check(SentenceEncoder* encoder, const std::filesystem::path& path, std::ostream& out) {
  const Fixture fixture = read_fixture(path);
  bool passed = true;
  const auto judge = [&](bool good, const std::string& what) {
    out << (good ? "  ok    " : "  FAIL  ") << what << '\n';
    passed = passed && good;
  };

  std::vector<TokenIds> ids;
  ids.reserve(fixture.sentences.size());
  std::size_t equal = 0;
  for (const FixtureSentence& sentence : fixture.sentences) {
    if (sentence.embedding.size() != static_cast<std::size_t>(encoder->dimension())) {
      throw std::runtime_error(
          path.string() + ": an embedding has " + std::to_string(sentence.embedding.size()) +
          " components, the model computes " + std::to_string(encoder->dimension()));
    }
    ids.push_back(encoder->tokenizer().encode(sentence.text));
    if (ids.back() == sentence.ids) {
      ++equal;
    } else {
      out << "  other tokens: " << sentence.text.substr(0, 60) << '\n';
    }
  }
  out << fixture.sentences.size() << " sentences of " << lengths_text(ids)
      << " tokens; reference: " << fixture.origin << '\n';
  const auto figure = [](double value, double limit) {
    std::ostringstream text;
    text << std::scientific << std::setprecision(2) << value << " (limit " << limit << ")";
    return text.str();
  };
  judge(equal == ids.size(),
        "token ids equal: " + std::to_string(equal) + " of " + std::to_string(ids.size()));

  std::vector<Embedding> alone;
  alone.reserve(ids.size());
  for (const TokenIds& sentence : ids) alone.push_back(encoder->encode_batch({sentence}).front());
  const std::vector<Embedding> batched = encoder->encode_batch(ids, Padding::Poison);

  double alone_distance = 0;
  double batched_distance = 0;
  double component = 0;
  double batch_difference = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Embedding& expected = fixture.sentences[i].embedding;
    alone_distance = std::max(alone_distance, cosine_distance(alone[i], expected));
    batched_distance = std::max(batched_distance, cosine_distance(batched[i], expected));
    component = std::max({component, max_abs_difference(alone[i], expected),
                          max_abs_difference(batched[i], expected)});
    batch_difference = std::max(batch_difference, max_abs_difference(alone[i], batched[i]));
  }
  judge(alone_distance < kMaxCosineDistance, "cosine distance to the reference, each alone: max " +
                                                 figure(alone_distance, kMaxCosineDistance));
  judge(batched_distance < kMaxCosineDistance,
        "cosine distance to the reference, one batch, padding of NaN: max " +
            figure(batched_distance, kMaxCosineDistance));
  judge(batch_difference <= kMaxBatchDifference,
        "alone against batch, components: max " + figure(batch_difference, kMaxBatchDifference));
  judge(component <= kMaxComponentDifference, "components against the reference, both ways: max " +
                                                  figure(component, kMaxComponentDifference));
  out << (passed ? "check passed" : "check FAILED") << '\n';
  return passed;
}

}  // namespace sentence_embedding
