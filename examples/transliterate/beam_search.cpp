// SPDX-License-Identifier: Apache-2.0
#include "beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace transliterate {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

struct Beam {
  TokenIds ids;  // without the mark they all begin with
  double score = kImpossible;
  std::int64_t length = 0;  // with the end, without what is filled up behind it
  bool finished = false;
  std::int64_t parent = 0;  // its row in the step before
};

struct Candidate {
  double score;
  std::int64_t parent;
  std::int32_t token;
};

// The best continuations of one name's beams. log_probabilities [beams, vocabulary].
std::vector<Beam> extend(const std::vector<Beam>& beams, const float* log_probabilities,
                         std::int64_t vocabulary, bool first) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    const auto parent = static_cast<std::int64_t>(i);
    if (beams[i].score == kImpossible) continue;
    if (beams[i].finished) {
      candidates.push_back({beams[i].score, parent, Vocabulary::kPad});
      continue;
    }
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      if (token == Vocabulary::kPad || (first && token == Vocabulary::kEnd)) continue;
      const double step = log_probabilities[parent * vocabulary + token];
      candidates.push_back({beams[i].score + step, parent, token});
    }
  }
  const std::size_t kept = std::min(beams.size(), candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept),
                    candidates.end(), [](const Candidate& a, const Candidate& b) {
                      if (a.score != b.score) return a.score > b.score;
                      return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
                    });
  std::vector<Beam> next;
  for (std::size_t i = 0; i < kept; ++i) {
    const Candidate& best = candidates[i];
    Beam beam = beams[static_cast<std::size_t>(best.parent)];
    beam.ids.push_back(best.token);
    beam.score = best.score;
    beam.length += beam.finished ? 0 : 1;
    beam.finished = beam.finished || best.token == Vocabulary::kEnd;
    beam.parent = best.parent;
    next.push_back(std::move(beam));
  }
  next.resize(beams.size());
  return next;
}

std::vector<Hypothesis> hypotheses_of(const std::vector<Beam>& beams, const Vocabulary& vocabulary,
                                      double length_alpha) {
  std::vector<Hypothesis> found;
  for (const Beam& beam : beams) {
    if (beam.score == kImpossible) continue;
    std::string text = vocabulary.decode(beam.ids);
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    text = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Hypothesis& other) { return other.text == text; });
    if (known) continue;
    const double length = static_cast<double>(std::max<std::int64_t>(beam.length, 1));
    const Hypothesis hypothesis = {text, beam.score / std::pow(length, length_alpha)};
    // Behind those of the same score: they came first.
    const auto place = std::upper_bound(
        found.begin(), found.end(), hypothesis,
        [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    found.insert(place, hypothesis);
  }
  return found;
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Decoder* decoder, const Vocabulary& vocabulary,
                                                 const Encoded& encoded, const Search& search) {
  const auto names = static_cast<std::size_t>(encoded.names);
  const auto width = static_cast<std::size_t>(search.beam);
  std::vector<std::vector<Beam>> beams(names, std::vector<Beam>(width));
  for (auto& name : beams) name.front().score = 0;  // the others come to life in the first step
  States states = decoder->start(encoded, search.beam, search.look.link);
  TokenIds tokens(names * width, Vocabulary::kBegin);
  std::vector<std::int64_t> rows(names * width);

  for (std::int64_t step = 0; step < search.steps; ++step) {
    const std::vector<float>& log_probabilities =
        decoder->step(encoded, tokens, &states, search.look);
    bool all_finished = true;
    for (std::size_t name = 0; name < names; ++name) {
      const float* const of_name = log_probabilities.data() + static_cast<std::int64_t>(name) *
                                                                  search.beam * vocabulary.size();
      beams[name] = extend(beams[name], of_name, vocabulary.size(), step == 0);
      for (std::size_t i = 0; i < width; ++i) {
        const Beam& beam = beams[name][i];
        tokens[name * width + i] = beam.ids.empty() ? Vocabulary::kPad : beam.ids.back();
        rows[name * width + i] = static_cast<std::int64_t>(name) * search.beam + beam.parent;
        all_finished = all_finished && (beam.finished || beam.score == kImpossible);
      }
    }
    if (all_finished) break;
    states.reorder(rows);
  }

  std::vector<std::vector<Hypothesis>> results;
  results.reserve(names);
  for (const auto& name : beams) {
    results.push_back(hypotheses_of(name, vocabulary, search.length_alpha));
  }
  return results;
}

}  // namespace transliterate
