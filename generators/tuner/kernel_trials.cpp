// kernel_trials.cpp: compiled in processes of their own, verified, timed in turn with the
// incumbent. SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/kernel_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/samples.h"
#include "generators/describe/call_shape.h"

namespace fovea {
namespace {

constexpr int most_calls = 100000;

// When samples are enough: as many as that, and then when the median of the ratios is certain to so
// much of itself, or there are too many.
struct StoppingRule {
  size_t fewest, most;
  double certain;
};
constexpr StoppingRule rule_of(Effort effort) {
  switch (effort) {
    case Effort::Screen:
      return {3, 5, 0.02};
    case Effort::Compare:
      return {5, 21, 0.005};
    case Effort::Final:
      break;
  }
  return {21, 61, 0.002};
}

// The standard error of a median, of what is spread normally, by the median absolute deviation.
double uncertainty(const bench::Samples& ratios) {
  constexpr double deviation_of_mad = 1.4826, error_of_median = 1.2533;
  return deviation_of_mad * error_of_median * ratios.mad() /
         std::sqrt(static_cast<double>(ratios.values.size()));
}

// Timed no further with less than the greatest effort: it will not come first.
constexpr double much_slower = 0.9;

}  // namespace

KernelTrials::KernelTrials(KernelSpec spec, const std::vector<Variant>& declared,
                           const std::vector<ExampleShape>& shapes, const bench::Settings& settings,
                           TrialOptions options)
    : spec_(std::move(spec)), declared_(declared), options_(std::move(options)) {
  const auto variant = std::find_if(declared.begin(), declared.end(),
                                    [&](const Variant& v) { return v.name() == spec_.variant; });
  if (variant == declared.end())
    throw std::invalid_argument(fmt::format("variant '{}' is not declared", spec_.variant));
  for (const ExampleShape& shape : shapes) {
    memory_.push_back(std::make_unique<bench::SharedMemory>());
    problems_.push_back(
        std::make_unique<bench::Problem>(*variant, spec_.dtype, shape, settings, *memory_.back()));
  }
}

void KernelTrials::build(const std::vector<std::string>& schedules) {
  std::vector<bench::BuiltKernel> kernels;
  for (const std::string& schedule : schedules) {
    const auto found = kernels_.find(schedule);
    if (found == kernels_.end()) kernels.push_back({spec_, schedule, "", {}, "", false});
  }
  if (kernels.empty()) return;
  bench::build_kernels(kernels, declared_, options_.build);
  for (bench::BuiltKernel& k : kernels) kernels_[k.overrides] = std::move(k);
}

const bench::BuiltKernel& KernelTrials::built_(const std::string& schedule) {
  build({schedule});
  const bench::BuiltKernel& k = kernels_.at(schedule);
  if (!k.error.empty())
    throw TrialFailure(k.timed_out ? TrialStatus::Timeout : TrialStatus::Compile, k.error);
  return k;
}

void KernelTrials::forget(const std::string& schedule) {
  const auto found = kernels_.find(schedule);
  if (found == kernels_.end()) return;
  if (!found->second.library.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(found->second.library.parent_path(), ignored);
  }
  kernels_.erase(found);
}

std::unique_ptr<TrialProcess> KernelTrials::start_(const bench::BuiltKernel& kernel) {
  std::vector<const bench::Problem*> problems;
  for (const auto& p : problems_) problems.push_back(p.get());
  return std::make_unique<TrialProcess>(kernel.library, options_.choice, problems, options_.limits);
}

TrialProcess& KernelTrials::incumbent_process_(const std::string& schedule) {
  if (!incumbent_process_of_ || incumbent_ != schedule) {
    incumbent_process_of_ = start_(built_(schedule));
    incumbent_ = schedule;
    incumbent_s_.clear();
    for (size_t i = 0; i < problems_.size(); ++i) {
      incumbent_process_of_->run(i, {1, false, false});
      incumbent_s_.push_back(incumbent_process_of_->run(i, {1, false, false}));
    }
  }
  return *incumbent_process_of_;
}

KernelTrials::Calls KernelTrials::verify_(TrialProcess& process, size_t i, double expected_s,
                                          TrialOutcome& outcome) {
  const bench::Problem& problem = *problems_[i];
  // What is not written is not a number.
  std::memset(problem.call().out.data, 0xff, problem.out_bytes());
  process.run(i, {1, false, false}, expected_s);
  process.write_output(i);
  const bench::Error error = problem.error();
  if (outcome.error_bound == 0 ||
      error.max_abs * outcome.error_bound > outcome.max_abs_error * error.bound) {
    outcome.max_abs_error = error.max_abs;
    outcome.error_bound = error.bound;
  }
  if (!error.ok()) {
    throw TrialFailure(TrialStatus::Wrong,
                       fmt::format("{}: its error is {:.2e}, allowed is {:.2e}",
                                   call_shape_text(problem.shape()), error.max_abs, error.bound));
  }
  const double seconds = std::max(process.run(i, {1, false, false}, expected_s), 1e-9);
  const int calls = static_cast<int>(
      std::clamp(std::ceil(options_.sample_s / seconds), 1.0, static_cast<double>(most_calls)));
  return {calls, seconds * calls};
}

double KernelTrials::compare_(TrialProcess& own, TrialProcess& incumbent, size_t i,
                              const Calls& calls, Effort effort, ShapeTiming& timing) {
  const StoppingRule rule = rule_of(effort);
  // What the incumbent does is not held against the candidate.
  const auto incumbent_run = [&](const bench::TimedCalls& timed) {
    try {
      return incumbent.run(i, timed, calls.seconds);
    } catch (const TrialFailure& failure) {
      throw std::runtime_error(
          fmt::format("the incumbent {} no longer runs: {}", incumbent_, failure.what()));
    }
  };
  bench::Samples ratios;
  const bench::TimedCalls timed = {calls.calls, true, false};
  while (ratios.values.size() < rule.most) {
    double own_s = 0, incumbent_s = 0;
    const bool first = ratios.values.size() % 2 == 0;  // none always follows the other
    if (first) own_s = own.run(i, timed, calls.seconds);
    incumbent_s = incumbent_run(timed);
    if (!first) own_s = own.run(i, timed, calls.seconds);
    own_s = std::max(own_s, 1e-9) / calls.calls;
    incumbent_s = std::max(incumbent_s, 1e-9) / calls.calls;
    timing.seconds.push_back(own_s);
    timing.incumbent_seconds.push_back(incumbent_s);
    ratios.values.push_back(incumbent_s / own_s);
    if (ratios.values.size() >= rule.fewest && uncertainty(ratios) < rule.certain * ratios.median())
      break;
  }
  return ratios.median();
}

TrialOutcome KernelTrials::time(const std::string& schedule, const std::string& incumbent,
                                Effort effort) {
  TrialProcess& rival = incumbent_process_(incumbent);
  TrialOutcome outcome;
  try {
    const std::unique_ptr<TrialProcess> own = start_(built_(schedule));
    std::vector<Calls> calls;
    for (size_t i = 0; i < problems_.size(); ++i)
      calls.push_back(verify_(*own, i, incumbent_s_[i], outcome));
    double logarithms = 0;
    for (size_t i = 0; i < problems_.size(); ++i) {
      ShapeTiming timing;
      timing.shape = call_shape_text(problems_[i]->shape());
      const double ratio = compare_(*own, rival, i, calls[i], effort, timing);
      logarithms += std::log(ratio);
      outcome.least_ratio = i == 0 ? ratio : std::min(outcome.least_ratio, ratio);
      outcome.timings.push_back(std::move(timing));
    }
    outcome.ratio = std::exp(logarithms / static_cast<double>(problems_.size()));
    if (effort != Effort::Final && outcome.ratio < much_slower) {
      outcome.status = TrialStatus::Slower;
      outcome.reason = fmt::format("{:.3f} x the incumbent", outcome.ratio);
    }
  } catch (const TrialFailure& failure) {
    outcome.status = failure.status();
    outcome.reason = failure.what();
    outcome.timings.clear();
  }
  return outcome;
}

}  // namespace fovea
