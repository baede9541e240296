// search.cpp: exhaustive, random, and successive halving followed by descent along coordinates.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

namespace fovea {
namespace {

// Kernels are compiled some at a time, and what is learned of them is of use to the next ones.
constexpr size_t batch = 8;

// Points of the space in a given order, each once.
class InOrder : public SearchStrategy {
 public:
  InOrder(const ScheduleSpace& space, std::vector<size_t> order)
      : space_(space), order_(std::move(order)) {}

  std::vector<Proposal> next() override {
    std::vector<Proposal> proposals;
    while (proposals.size() < batch && at_ < order_.size())
      proposals.push_back({space_.points()[order_[at_++]], Effort::Compare});
    return proposals;
  }
  void learn(const Proposal&, double) override {}
  size_t expected() const override { return order_.size() - at_; }

 private:
  const ScheduleSpace& space_;
  std::vector<size_t> order_;
  size_t at_ = 0;
};

std::vector<size_t> in_order(const ScheduleSpace& space) {
  std::vector<size_t> order(space.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

// std::shuffle and the distributions may differ between standard libraries; this does not.
std::vector<size_t> shuffled(const ScheduleSpace& space, uint64_t seed) {
  std::vector<size_t> order = in_order(space);
  std::mt19937_64 random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

class HalvingThenDescent : public SearchStrategy {
 public:
  HalvingThenDescent(const ScheduleSpace& space, const SearchOptions& options) : space_(space) {
    current_ = {space.usual()};
    const std::vector<size_t> order = shuffled(space, options.seed);
    for (size_t i = 0; i < order.size() && current_.size() <= static_cast<size_t>(options.starts);
         ++i) {
      if (space.points()[order[i]] != space.usual()) current_.push_back(space.points()[order[i]]);
    }
    expected_ = current_.size() + current_.size() / kept + 3 * space.parameters().size();
  }

  std::vector<Proposal> next() override {
    if (stage_ == Stage::Screen) return proposals(Effort::Screen, Stage::Compare);
    if (stage_ == Stage::Compare) {
      keep_best();
      return proposals(Effort::Compare, Stage::Descent);
    }
    if (stage_ == Stage::Descent) return descend();
    return {};
  }

  void learn(const Proposal& tried, double speedup) override {
    if (expected_ > 0) --expected_;
    // What was timed with more effort takes the place of what was timed with less.
    scores_[tried.point] = speedup;
    if (tried.effort == Effort::Compare) compared_.insert(tried.point);
  }

  size_t expected() const override {
    return stage_ == Stage::End ? 0 : std::max<size_t>(expected_, 1);
  }

 private:
  enum class Stage { Screen, Compare, Descent, End };
  static constexpr size_t kept = 3;  // one of so many goes on
  // A step has to be worth more than two timings of one kernel differ.
  static constexpr double least_gain = 1.004;
  // Values next to the present one that are tried, on both sides.
  static constexpr std::ptrdiff_t reach = 2;

  std::vector<Proposal> proposals(Effort effort, Stage then) {
    std::vector<Proposal> all;
    for (const SpacePoint& p : current_) all.push_back({p, effort});
    stage_ = then;
    return all;
  }

  // The best third, and the default in any case.
  void keep_best() {
    std::stable_sort(current_.begin(), current_.end(),
                     [&](const auto& a, const auto& b) { return scores_[a] > scores_[b]; });
    const size_t count = std::max<size_t>(2, (current_.size() + kept - 1) / kept);
    std::vector<SpacePoint> best;
    for (const SpacePoint& p : current_) {
      const bool usable = scores_[p] > 0 && best.size() < count;
      if (usable || p == space_.usual()) best.push_back(p);
    }
    current_ = std::move(best);
  }

  // Along one parameter at a time, from the best so far, until none is worth a step.
  std::vector<Proposal> descend() {
    const SpacePoint* best = &space_.usual();
    for (const SpacePoint& p : compared_) {
      if (scores_[p] > scores_[*best]) best = &p;
    }
    if (here_.empty() || (*best != here_ && scores_[*best] > scores_[here_] * least_gain)) {
      here_ = *best;
      unchanged_ = 0;
    }
    while (unchanged_ < space_.parameters().size()) {
      const size_t i = parameter_++ % space_.parameters().size();
      ++unchanged_;
      std::vector<Proposal> steps;
      const std::vector<int> values = space_.values(i, here_);
      const auto at = std::find(values.begin(), values.end(), here_[i]) - values.begin();
      for (std::ptrdiff_t k = at - reach; k <= at + reach; ++k) {
        if (k < 0 || k >= static_cast<std::ptrdiff_t>(values.size()) || k == at) continue;
        const SpacePoint moved = space_.changed(here_, i, values[static_cast<size_t>(k)]);
        if (!compared_.count(moved)) steps.push_back({moved, Effort::Compare});
      }
      if (!steps.empty()) return steps;
    }
    stage_ = Stage::End;
    return {};
  }

  const ScheduleSpace& space_;
  Stage stage_ = Stage::Screen;
  std::vector<SpacePoint> current_;
  std::map<SpacePoint, double> scores_;
  std::set<SpacePoint> compared_;
  SpacePoint here_;
  size_t parameter_ = 0, unchanged_ = 0, expected_ = 0;
};

}  // namespace

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = {"halving", "random", "exhaustive"};
  return names;
}

std::unique_ptr<SearchStrategy> make_strategy(const std::string& name, const ScheduleSpace& space,
                                              const SearchOptions& options) {
  if (name == "halving") return std::make_unique<HalvingThenDescent>(space, options);
  if (name == "random") return std::make_unique<InOrder>(space, shuffled(space, options.seed));
  if (name == "exhaustive") return std::make_unique<InOrder>(space, in_order(space));
  throw std::invalid_argument(
      fmt::format("strategy '{}': allowed is {}", name, fmt::join(strategy_names(), ", ")));
}

}  // namespace fovea
