// tuner.cpp: proposals, trials and records.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "generators/database/tuning_file.h"

namespace fovea {
namespace {

// Compared with the default once more, carefully: the first is the best by a margin that may be
// noise.
constexpr size_t finalists = 3;
// A winner may lose no more than noise in any shape.
constexpr double least_ratio_of_winner = 0.985;
// Kernels that are compiled before they are timed; an interruption waits for no more.
constexpr size_t compiled_at_once = 4;

class Search {
 public:
  Search(const ScheduleSpace& space, TrialRunner& runner, const TuneRequest& request)
      : space_(space),
        runner_(runner),
        request_(request),
        usual_(text_of(space.schedule(space.usual()))),
        strategy_(make_strategy(request.strategy, space, request.search)),
        begin_(Clock::now()) {
    incumbent_ = state_.best_schedule = usual_;
    if (std::filesystem::exists(request.file)) {
      for (const StoredRecord& stored : read_tuning_file(request.file).records) {
        if (is_of_this_search(stored.record))
          known_[{stored.record.schedule, stored.record.effort}] = stored.record;
      }
    }
  }

  TuneResult run() {
    for (;;) {
      const std::vector<Proposal> proposals = strategy_->next();
      if (proposals.empty()) break;
      for (size_t i = 0; i < proposals.size(); i += compiled_at_once) {
        const std::vector<Proposal> some(
            proposals.begin() + static_cast<std::ptrdiff_t>(i),
            proposals.begin() +
                static_cast<std::ptrdiff_t>(std::min(i + compiled_at_once, proposals.size())));
        if (const std::optional<TuneResult> end = try_all(some)) return *end;
      }
    }
    return finish();
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_of_this_search(const TuningRecord& r) const {
    const TuningRecord& base = request_.base;
    return r.judged_by == base.judged_by && r.kernel == base.kernel &&
           r.variant_hash == base.variant_hash && r.target == base.target &&
           r.workload == base.workload && r.environment == base.environment;
  }

  const TuningRecord* known(const std::string& schedule, Effort effort) const {
    const auto found = known_.find({schedule, effort});
    return found == known_.end() ? nullptr : &found->second;
  }

  std::string text(const SpacePoint& point) const { return text_of(space_.schedule(point)); }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  bool budget_is_spent() const {
    const Budget& b = request_.budget;
    return (b.seconds > 0 && seconds() >= b.seconds) ||
           (b.candidates > 0 && state_.done >= b.candidates);
  }

  // Nothing: go on.
  std::optional<TuneResult> try_all(const std::vector<Proposal>& proposals) {
    std::vector<std::string> missing;
    for (const Proposal& p : proposals) {
      if (!known(text(p.point), p.effort) && !budget_is_spent()) missing.push_back(text(p.point));
    }
    if (request_.interrupted()) return TuneResult{state_, true, {}};
    if (!missing.empty()) runner_.build(missing);
    for (const Proposal& p : proposals) {
      if (request_.interrupted()) return TuneResult{state_, true, {}};
      if (budget_is_spent()) return finish();
      strategy_->learn(p, try_one(text(p.point), p.effort));
    }
    return {};
  }

  // The factor over the default; 0: it cannot be used.
  double try_one(const std::string& schedule, Effort effort) {
    const TuningRecord* stored = known(schedule, effort);
    const TuningRecord r = stored ? *stored : compared(schedule, effort);
    if (!stored) {
      append_record(request_.file, r);
      ++fresh_;
    }
    ++state_.done;
    state_.resumed += stored ? 1 : 0;
    const bool usable = r.status == TrialStatus::Ok;
    if (!usable) ++state_.invalid[r.status];
    if (schedule == usual_ && !usable && r.status != TrialStatus::Slower) {
      throw std::runtime_error(fmt::format("the default schedule of {} does not run: {}: {}",
                                           r.kernel, status_name(r.status), r.reason));
    }
    if (usable && effort == Effort::Compare) {
      compared_.emplace_back(r.speedup, schedule);
      if (r.speedup > incumbent_speedup_) {
        const std::string before = std::exchange(incumbent_, schedule);
        incumbent_speedup_ = r.speedup;
        if (before != usual_) runner_.forget(before);
      }
    }
    if (incumbent_ != state_.best_schedule)
      state_.best = incumbent_speedup_, state_.best_schedule = incumbent_;
    if (schedule != incumbent_ && schedule != usual_) runner_.forget(schedule);
    state_.expected = strategy_->expected();
    estimate();
    request_.tried(state_, r);
    return usable || r.status == TrialStatus::Slower ? r.speedup : 0;
  }

  void estimate() {
    state_.seconds = seconds();
    state_.left_s.reset();
    const Budget& b = request_.budget;
    size_t more = state_.expected;
    if (b.candidates > 0) more = std::min(more, b.candidates - std::min(b.candidates, state_.done));
    if (fresh_ > 0)
      state_.left_s = state_.seconds / static_cast<double>(fresh_) * static_cast<double>(more);
    if (b.seconds > 0) {
      const double rest = std::max(0.0, b.seconds - state_.seconds);
      state_.left_s = state_.left_s ? std::min(*state_.left_s, rest) : rest;
    }
  }

  // Beside the fastest so far. What is faster than that is timed beside the default as well:
  // products of factors, each of which came out above its true value, would grow from step to step.
  TuningRecord compared(const std::string& schedule, Effort effort) {
    TuningRecord r = timed(schedule, incumbent_, incumbent_speedup_, effort);
    const bool is_faster = r.status == TrialStatus::Ok && effort == Effort::Compare &&
                           r.speedup > incumbent_speedup_ && schedule != usual_;
    return is_faster && incumbent_ != usual_ ? timed(schedule, usual_, 1, effort) : r;
  }

  TuningRecord timed(const std::string& schedule, const std::string& incumbent,
                     double incumbent_speedup, Effort effort) {
    const TrialOutcome outcome = runner_.time(schedule, incumbent, effort);
    least_ratio_ = outcome.least_ratio;
    TuningRecord r = request_.base;
    r.schedule = schedule;
    r.incumbent = incumbent;
    r.status = outcome.status;
    r.reason = outcome.reason;
    r.effort = effort;
    r.max_abs_error = outcome.max_abs_error;
    r.error_bound = outcome.error_bound;
    r.timings = outcome.timings;
    // The default is as fast as itself, whatever noise says.
    r.speedup = schedule == usual_ && outcome.ratio > 0 ? 1 : outcome.ratio * incumbent_speedup;
    return r;
  }

  // Timed once more, against the default; what loses in one shape is no winner.
  TuningRecord final_of(const std::string& schedule) {
    if (const TuningRecord* stored = known(schedule, Effort::Final)) return *stored;
    TuningRecord r = timed(schedule, usual_, 1, Effort::Final);
    if (r.status == TrialStatus::Ok && schedule != usual_ &&
        (r.speedup <= 1 || least_ratio_ < least_ratio_of_winner)) {
      r.status = TrialStatus::Slower;
      r.reason = fmt::format("{:.3f} x the default in one shape", least_ratio_);
    }
    return r;
  }

  void write_once(const TuningRecord& r) {
    if (!known(r.schedule, r.effort)) append_record(request_.file, r);
  }

  TuneResult finish() {
    std::stable_sort(compared_.begin(), compared_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> last;
    for (const auto& [speedup, schedule] : compared_) {
      const bool is_new = std::find(last.begin(), last.end(), schedule) == last.end();
      if (is_new && schedule != usual_ && speedup > 1 && last.size() < finalists)
        last.push_back(schedule);
    }
    if (request_.interrupted()) return {state_, true, {}};
    if (!last.empty()) runner_.build(last);
    std::vector<TuningRecord> finals;
    for (const std::string& schedule : last) {
      if (request_.interrupted()) return {state_, true, {}};
      finals.push_back(final_of(schedule));
      state_.seconds = seconds();
      request_.tried(state_, finals.back());
    }
    const auto worse = [](const TuningRecord& a, const TuningRecord& b) {
      const bool a_wins = a.status == TrialStatus::Ok, b_wins = b.status == TrialStatus::Ok;
      return a_wins != b_wins ? b_wins : a.speedup < b.speedup;
    };
    const auto first = std::max_element(finals.begin(), finals.end(), worse);
    const bool found = first != finals.end() && first->status == TrialStatus::Ok;
    const TuningRecord best = found ? *first : final_of(usual_);
    for (TuningRecord& r : finals) {
      if (r.schedule == best.schedule) continue;
      if (r.status == TrialStatus::Ok) {
        r.status = TrialStatus::Slower;
        r.reason = fmt::format("the winner is {:.3f} x the default", best.speedup);
      }
      write_once(r);
    }
    // Last: without it the search has not ended.
    write_once(best);
    state_.best = best.speedup, state_.best_schedule = best.schedule;
    state_.seconds = seconds();
    return {state_, false, best};
  }

  const ScheduleSpace& space_;
  TrialRunner& runner_;
  const TuneRequest& request_;
  const std::string usual_;
  std::unique_ptr<SearchStrategy> strategy_;
  std::map<std::pair<std::string, Effort>, TuningRecord> known_;
  TuneState state_;
  std::string incumbent_;  // the fastest that was compared so far
  double incumbent_speedup_ = 1, least_ratio_ = 0;
  std::vector<std::pair<double, std::string>> compared_;
  size_t fresh_ = 0;
  Clock::time_point begin_;
};

}  // namespace

double parse_duration(const std::string& text) {
  size_t read = 0;
  double x = 0;
  try {
    x = std::stod(text, &read);
  } catch (const std::logic_error&) {
  }
  const std::string unit = text.substr(read);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (read == 0 || factor == 0 || !(x > 0) || x > 1e7)
    throw std::invalid_argument(
        fmt::format("'{}': allowed is a time such as 90s, 20m or 1.5h", text));
  return x * factor;
}

TuneResult tune(const ScheduleSpace& space, TrialRunner& runner, const TuneRequest& request) {
  return Search(space, runner, request).run();
}

}  // namespace fovea
