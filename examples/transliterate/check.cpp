// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixture.h"
#include "trace.h"

namespace transliterate {
namespace {

// ONNX Runtime sums in another order and has approximations of exp and tanh of its own. Observed
// are 4e-6.
constexpr double kMaxLogProbability = 5e-5;
// Of scores around 1, observed are 3e-6.
constexpr double kMaxSoftWeight = 1e-5;
// The model's own scores are sums of 256 products and reach some hundreds, so that rounding moves
// them by about 1e-4, and weights by as much of themselves. Observed are 2e-4 with SSE4.1, which
// has no fused multiply-add, and nothing with AVX2 and AVX-512.
constexpr double kMaxWeight = 1e-3;
// Kernels of one declaration differ in the order of their sums only; observed are 6e-6.
constexpr double kMaxBetweenPasses = 2e-5;

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}

  void judge(bool good, const std::string& what) {
    out_ << (good ? "  ok    " : "  FAIL  ") << what << '\n';
    passed_ = passed_ && good;
  }
  void equal(std::size_t same, std::size_t all, const std::string& what) {
    judge(same == all, what + " equal: " + std::to_string(same) + " of " + std::to_string(all));
  }
  void within(double value, double limit, const std::string& what) {
    std::ostringstream text;
    text << what << ": max difference " << std::scientific << std::setprecision(1) << value
         << " (limit " << limit << ")";
    judge(value <= limit, text.str());
  }
  std::ostream& out() { return out_; }
  bool passed() const { return passed_; }

 private:
  std::ostream& out_;
  bool passed_ = true;
};

// A NaN would get lost in a maximum.
void take_maximum(double a, double b, double* worst) {
  const double difference = std::abs(a - b);
  *worst = std::max(
      *worst, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
}

// NaN wherever a name has no token: what is not there must not matter.
Encoded poisoned(Encoded encoded) {
  for (std::int64_t name = 0; name < encoded.names; ++name) {
    float* const rows = encoded.memory.data() + name * encoded.tokens * kFeatures;
    std::fill(rows + encoded.lengths[static_cast<std::size_t>(name)] * kFeatures,
              rows + encoded.tokens * kFeatures, std::numeric_limits<float>::quiet_NaN());
  }
  return encoded;
}

using Found = std::vector<std::vector<Hypothesis>>;

void compare_hypotheses(const std::vector<const FixturePart*>& parts, std::int64_t beam,
                        const Found& found, const std::string& how, Report* report) {
  std::size_t first = 0;
  std::size_t lists = 0;
  double score = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Hypothesis>& expected = parts[i]->hypotheses.at(beam);
    const bool best =
        !expected.empty() && !found[i].empty() && expected[0].text == found[i][0].text;
    first += best ? 1 : 0;
    bool list = expected.size() == found[i].size();
    for (std::size_t j = 0; j < std::min(expected.size(), found[i].size()); ++j) {
      list = list && expected[j].text == found[i][j].text;
      if (expected[j].text != found[i][j].text) continue;
      take_maximum(expected[j].score, found[i][j].score, &score);
    }
    lists += list ? 1 : 0;
    if (list) continue;
    report->out() << "        " << parts[i]->text << ": expected";
    for (const Hypothesis& one : expected) report->out() << ' ' << one.text;
    report->out() << ", found";
    for (const Hypothesis& one : found[i]) report->out() << ' ' << one.text;
    report->out() << '\n';
  }
  const std::string what = "beam " + std::to_string(beam) + ", " + how + ": ";
  report->equal(first, parts.size(), what + "best spelling");
  report->equal(lists, parts.size(), what + "all spellings in their order");
  report->within(score, kMaxLogProbability, what + "scores");
}

// What the same steps gave with the decode kernel, and with the prefill kernel, which also returns
// weights.
struct Passes {
  std::vector<Trace> decode;
  std::vector<Trace> prefill;
};

Passes trace_passes(Model* model, const Encoded& encoded, const std::vector<TokenIds>& targets,
                    float scale) {
  return {trace(&model->decoder(), encoded, targets, {.look = {.scale = scale}}),
          trace(&model->decoder(), encoded, targets, {.weights = true, .look = {.scale = scale}})};
}

void compare_between(const Passes& passes, const std::string& how, Report* report) {
  double worst = 0;
  for (std::size_t name = 0; name < passes.decode.size(); ++name) {
    for (std::size_t step = 0; step < passes.decode[name].log_probabilities.size(); ++step) {
      const std::vector<float>& decode = passes.decode[name].log_probabilities[step];
      const std::vector<float>& prefill = passes.prefill[name].log_probabilities[step];
      for (std::size_t token = 0; token < decode.size(); ++token) {
        take_maximum(decode[token], prefill[token], &worst);
      }
    }
  }
  report->within(worst, kMaxBetweenPasses, how + "log-probabilities of decode and prefill kernels");
}

void compare_weights(const std::vector<double>& expected, const std::vector<float>& found,
                     double* worst) {
  if (expected.size() != found.size()) {
    throw std::runtime_error("fixture: a step has " + std::to_string(expected.size()) +
                             " weights, the source " + std::to_string(found.size()) + " tokens");
  }
  for (std::size_t k = 0; k < found.size(); ++k) take_maximum(expected[k], found[k], worst);
}

void compare_steps(const std::vector<const FixturePart*>& parts, const Passes& sharp,
                   const Passes& soft, Report* report) {
  double log_probability = 0;
  double soft_log_probability = 0;
  double weight = 0;
  double soft_weight = 0;
  std::size_t steps = 0;
  std::size_t same_best = 0;
  for (std::size_t name = 0; name < parts.size(); ++name) {
    for (std::size_t step = 0; step < parts[name]->steps.size(); ++step, ++steps) {
      const FixtureStep& expected = parts[name]->steps[step];
      const std::vector<float>& found = sharp.decode[name].log_probabilities[step];
      const auto token = static_cast<std::size_t>(expected.token);
      take_maximum(expected.log_probability, found.at(token), &log_probability);
      for (const auto& [one, value] : expected.best) {
        take_maximum(value, found.at(static_cast<std::size_t>(one)), &log_probability);
      }
      const auto best = std::max_element(found.begin(), found.end()) - found.begin();
      same_best += best == expected.best.front().first ? 1 : 0;
      take_maximum(expected.soft_log_probability,
                   soft.decode[name].log_probabilities[step].at(token), &soft_log_probability);
      compare_weights(expected.weights, sharp.prefill[name].weights[step], &weight);
      compare_weights(expected.soft_weights, soft.prefill[name].weights[step], &soft_weight);
    }
  }
  report->equal(same_best, steps, "most probable token of each step");
  report->within(log_probability, kMaxLogProbability, "log-probabilities of each step");
  report->within(weight, kMaxWeight, "attention weights of each step");
  report->within(soft_log_probability, kMaxLogProbability, "small scores, log-probabilities");
  report->within(soft_weight, kMaxSoftWeight, "small scores, attention weights");
}

}  // namespace

bool check(Model* model, const std::filesystem::path& file, std::ostream& out) {
  const Fixture fixture = Fixture::read(file);
  Report report(out);
  std::vector<const FixturePart*> parts;
  std::size_t same_parts = 0;
  std::size_t same_ids = 0;
  for (const FixtureName& name : fixture.names) {
    const std::vector<Part> found = model->parts_of(name.name, name.hint);
    for (std::size_t i = 0; i < name.parts.size(); ++i) {
      parts.push_back(&name.parts[i]);
      same_parts += i < found.size() && found[i].text == name.parts[i].text ? 1 : 0;
      same_ids += i < found.size() && found[i].ids == name.parts[i].ids ? 1 : 0;
    }
  }
  out << fixture.names.size() << " names in " << parts.size()
      << " parts; reference: " << fixture.origin << '\n';
  report.equal(same_parts, parts.size(), "parts of names");
  report.equal(same_ids, parts.size(), "token ids");

  std::vector<TokenIds> sources;
  std::vector<TokenIds> targets;
  std::set<std::int64_t> beams;
  for (const FixturePart* part : parts) {
    sources.push_back(part->ids);
    targets.emplace_back();
    for (const FixtureStep& step : part->steps) targets.back().push_back(step.token);
    for (const auto& [beam, hypotheses] : part->hypotheses) beams.insert(beam);
  }
  const Encoded batch = poisoned(encode(model->weights(), sources));
  for (const std::int64_t beam : beams) {
    const Search search = model->search(beam);
    compare_hypotheses(parts, beam, model->spell(sources, search, 1), "each alone", &report);
    compare_hypotheses(parts, beam,
                       beam_search(&model->decoder(), model->vocabulary(), batch, search),
                       "one batch, padding of NaN", &report);
  }
  const Passes sharp = trace_passes(model, batch, targets, 1);
  const Passes soft = trace_passes(model, batch, targets, fixture.soft_scale);
  compare_steps(parts, sharp, soft, &report);
  compare_between(sharp, "", &report);
  compare_between(soft, "small scores, ", &report);
  out << (report.passed() ? "check passed" : "check FAILED") << '\n';
  return report.passed();
}

}  // namespace transliterate
