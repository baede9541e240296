// SPDX-License-Identifier: Apache-2.0
#include "story.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <map>
#include <string>

#include "trace.h"
#include "unicode_text.h"

namespace transliterate {
namespace {

constexpr std::size_t kMarksBefore = 2;  // country and role

struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
};

std::ostream& operator<<(std::ostream& out, const Mean& mean) {
  if (mean.count == 0) return out << '-';
  return out << mean.sum / static_cast<double>(mean.count);
}

double distance(const float* a, const float* b, std::int64_t count) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    squares += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(squares);
}

// Letters to insert, delete or replace.
std::size_t edits(const std::string& a, const std::string& b) {
  const std::vector<std::string> from = characters_of(a);
  const std::vector<std::string> to = characters_of(b);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// In percent of what it should be.
double wrong_letters(const std::string& expected, const std::string& found) {
  return 100.0 * static_cast<double>(edits(expected, found)) /
         static_cast<double>(characters_of(expected).size());
}

// Rows of a table: numbers up to a bound share one. The last bound has no end.
struct Groups {
  std::vector<std::int64_t> first;

  std::size_t of(std::int64_t number) const {
    const auto after = std::upper_bound(first.begin(), first.end(), number);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - first.begin() - 1, 0));
  }
  std::string name(std::size_t group) const {
    const std::string begin = std::to_string(first[group]);
    if (group + 1 == first.size()) return begin + "+";
    const std::int64_t last = first[group + 1] - 1;
    return last == first[group] ? begin : begin + "-" + std::to_string(last);
  }
};

class Story {
 public:
  Story(Model* model, const std::vector<Part>& parts, std::ostream& out)
      : model_(model), out_(out), search_(model->search(0)) {
    for (const Part& part : parts) sources_.push_back(part.ids);
    encoded_ = encode(model->weights(), sources_);
    for (const auto& hypotheses : spell({})) {
      spelled_.push_back(hypotheses);
      targets_.push_back(model->vocabulary().encode_target(hypotheses));
    }
    traces_ = trace(&model->decoder(), encoded_, targets_, {.weights = true});
    out_ << std::fixed;
  }

  void reach_of_a_letter();
  void step_by_step();
  void by_length();
  void by_scale();

 private:
  std::vector<std::string> spell(const Look& look) {
    Search search = search_;
    search.look = look;
    std::vector<std::string> best;
    for (const auto& found :
         beam_search(&model_->decoder(), model_->vocabulary(), encoded_, search)) {
      best.push_back(found.empty() ? std::string() : found.front().text);
    }
    return best;
  }

  Model* model_;
  std::ostream& out_;
  Search search_;
  std::vector<TokenIds> sources_;
  Encoded encoded_;
  std::vector<std::string> spelled_;
  std::vector<TokenIds> targets_;
  std::vector<Trace> traces_;
};

void Story::reach_of_a_letter() {
  const Groups distances = {{1, 2, 3, 4, 5, 6, 8, 10, 12}};
  std::vector<Mean> left(distances.first.size());
  std::vector<Mean> looked(distances.first.size());
  const TokenIds& letters = model_->vocabulary().letters();
  const std::int64_t width = kFeatures / 2;
  for (std::size_t name = 0; name < sources_.size(); ++name) {
    const TokenIds& source = sources_[name];
    const std::size_t last = source.size() - 1;
    // Row 0 is the name; then one with another letter at one place, for each place and letter.
    std::vector<TokenIds> changed = {source};
    std::vector<std::size_t> places = {0};
    for (std::size_t place = kMarksBefore; place < last; ++place) {
      if (std::find(letters.begin(), letters.end(), source[place]) == letters.end()) continue;
      for (const std::int32_t letter : letters) {
        if (letter == source[place]) continue;
        changed.push_back(source);
        changed.back()[place] = letter;
        places.push_back(place);
      }
      double most = 0;
      for (const auto& weights : traces_[name].weights) {
        most = std::max(most, static_cast<double>(weights[place]));
      }
      looked[distances.of(static_cast<std::int64_t>(last - place))].add(most);
    }
    const std::vector<float> states = forward_states(model_->weights(), changed);
    const auto state = [&](std::size_t row, std::size_t token) {
      return states.data() + static_cast<std::int64_t>(row * source.size() + token) * width;
    };
    for (std::size_t row = 1; row < changed.size(); ++row) {
      const double there = distance(state(row, places[row]), state(0, places[row]), width);
      const double at_the_end = distance(state(row, last), state(0, last), width);
      left[distances.of(static_cast<std::int64_t>(last - places[row]))].add(at_the_end / there);
    }
  }
  out_ << "\nHow far a letter reaches: by its distance to the end of the name\n"
          "  distance   letters   left of it in the state   largest weight of attention\n";
  for (std::size_t group = 0; group < left.size(); ++group) {
    if (looked[group].count == 0) continue;
    out_ << "  " << std::setw(8) << distances.name(group) << std::setw(10) << looked[group].count
         << std::setw(26) << std::setprecision(2) << left[group] << std::setw(30) << looked[group]
         << '\n';
  }
}

void Story::step_by_step() {
  const Groups steps = {{1, 2, 3, 4, 5, 7, 9, 11, 13}};
  // The same outputs, but started with the state of another name: how long does that matter?
  std::vector<float> swapped = encoded_.start;
  std::rotate(swapped.begin(), swapped.begin() + kFeatures, swapped.end());
  const std::vector<Trace> others =
      trace(&model_->decoder(), encoded_, targets_, {.start = &swapped});
  constexpr std::array<Link, 5> kLinks = {Link::Attention, Link::LooksOnly, Link::Mean,
                                          Link::StateOnly, Link::Nothing};
  std::vector<Mean> left(steps.first.size());
  std::vector<std::array<Mean, kLinks.size()>> losses(steps.first.size());
  for (std::size_t link = 0; link < kLinks.size(); ++link) {
    const std::vector<Trace> traces =
        trace(&model_->decoder(), encoded_, targets_, {.look = {kLinks[link]}});
    for (std::size_t name = 0; name < targets_.size(); ++name) {
      for (std::size_t step = 0; step < targets_[name].size(); ++step) {
        const auto token = static_cast<std::size_t>(targets_[name][step]);
        losses[steps.of(static_cast<std::int64_t>(step) + 1)][link].add(
            -static_cast<double>(traces[name].log_probabilities[step][token]));
      }
    }
  }
  for (std::size_t name = 0; name < targets_.size(); ++name) {
    const auto row = static_cast<std::int64_t>(name) * kFeatures;
    const double before = distance(encoded_.start.data() + row, swapped.data() + row, kFeatures);
    if (before == 0) continue;  // the other name is the same
    for (std::size_t step = 0; step < targets_[name].size(); ++step) {
      left[steps.of(static_cast<std::int64_t>(step) + 1)].add(
          distance(traces_[name].states[step].data(), others[name].states[step].data(), kFeatures) /
          before);
    }
  }
  out_
      << "\nStep by step: what the decoder's state still has of its start, and -ln p of the token\n"
         "  step    tokens   left of start   full model   looks only   state+mean   state only   "
         "neither\n";
  for (std::size_t group = 0; group < left.size(); ++group) {
    if (losses[group][0].count == 0) continue;
    out_ << "  " << std::setw(5) << steps.name(group) << std::setw(9) << losses[group][0].count
         << std::setw(16) << std::setprecision(2) << left[group];
    for (std::size_t link = 0; link < kLinks.size(); ++link) {
      out_ << std::setw(link + 1 < kLinks.size() ? 13 : 10) << losses[group][link];
    }
    out_ << '\n';
  }
}

void Story::by_length() {
  const Groups lengths = {{1, 4, 6, 8, 10, 12}};
  constexpr std::size_t kTaken = 3;
  constexpr std::array<Link, kTaken> kLinks = {Link::LooksOnly, Link::Mean, Link::StateOnly};
  struct Row {
    std::size_t names = 0;
    std::size_t same[kTaken] = {};
    Mean wrong[kTaken] = {};
  };
  std::vector<Row> rows(lengths.first.size());
  for (std::size_t link = 0; link < kLinks.size(); ++link) {
    const std::vector<std::string> found = spell({kLinks[link]});
    for (std::size_t name = 0; name < found.size(); ++name) {
      const auto length = static_cast<std::int64_t>(sources_[name].size() - kMarksBefore - 1);
      Row& row = rows[lengths.of(length)];
      row.names += link == 0 ? 1 : 0;
      row.same[link] += found[name] == spelled_[name] ? 1 : 0;
      row.wrong[link].add(wrong_letters(spelled_[name], found[name]));
    }
  }
  out_ << "\nBy length of the name: spelled as by the full model, and letters that differ\n"
          "  characters   names   looks only       state+mean       state only\n";
  for (std::size_t group = 0; group < rows.size(); ++group) {
    const Row& row = rows[group];
    if (row.names == 0) continue;
    out_ << "  " << std::setw(10) << lengths.name(group) << std::setw(8) << row.names;
    for (std::size_t link = 0; link < kLinks.size(); ++link) {
      out_ << std::setw(8) << row.same[link] << std::setw(7) << std::setprecision(0)
           << row.wrong[link] << " %";
    }
    out_ << '\n';
  }
}

void Story::by_scale() {
  out_
      << "\nBy the scale of the scores: how sharp attention is, and what that does to the results\n"
         "   scale   largest weight   spelled the same   letters that differ\n";
  for (const int divisor : {1, 16, 32, 64, 128, 256}) {
    const float scale = 1 / static_cast<float>(divisor);
    Mean largest;
    for (const Trace& of_name : trace(&model_->decoder(), encoded_, targets_,
                                      {.weights = true, .look = {.scale = scale}})) {
      for (const auto& weights : of_name.weights) {
        largest.add(*std::max_element(weights.begin(), weights.end()));
      }
    }
    const std::vector<std::string> found = spell({.scale = scale});
    std::size_t same = 0;
    Mean wrong;
    for (std::size_t name = 0; name < found.size(); ++name) {
      same += found[name] == spelled_[name] ? 1 : 0;
      wrong.add(wrong_letters(spelled_[name], found[name]));
    }
    out_ << std::setw(8) << (divisor == 1 ? "1" : "1/" + std::to_string(divisor)) << std::setw(17)
         << std::setprecision(2) << largest << std::setw(12) << same << " of " << found.size()
         << std::setw(19) << std::setprecision(0) << wrong << " %\n";
  }
}

}  // namespace

void tell_story(Model* model, const std::vector<Part>& parts, std::ostream& out) {
  out << parts.size()
      << " parts of names, each spelled by the full model; then with something taken away:\n"
         "  looks only   the decoder starts with a state of 0; attention is all it knows of the "
         "name\n"
         "  state+mean   it starts with the encoder's state; all weights of attention are equal\n"
         "  state only   it starts with the encoder's state and may not look back\n"
         "  neither      it knows nothing of the name\n";
  Story story(model, parts, out);
  story.reach_of_a_letter();
  story.step_by_step();
  story.by_length();
  story.by_scale();
}

}  // namespace transliterate
