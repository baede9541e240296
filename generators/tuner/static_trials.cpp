// static_trials.cpp: compiled in processes of their own, disassembled, modelled.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/static_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "generators/emit/files.h"
#include "generators/inspect/llvm_tools.h"
#include "generators/targets/target_table.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

// Loops of exponentials hold multiply-adds as well, among other things.
bool multiplies(const Loop& loop) {
  return 2 * loop.multiply_adds > static_cast<int64_t>(loop.body.size());
}

// A smaller gain is less than what the model leaves out.
constexpr double least_gain = 1.01;

}  // namespace

const std::vector<std::string>& modelled_cpus(const std::string& architecture) {
  static const std::vector<std::string> arm = {"cortex-a76", "neoverse-n1", "neoverse-v1",
                                               "apple-m1"},
                                        x86 = {"skylake-avx512", "znver4"};
  return architecture == "arm64" ? arm : x86;
}

ScheduleSpace inner_loop_space(const ScheduleSpace& space) {
  static const std::set<std::string> modelled = {"lanes",          "dot_pairs",    "row_vectors",
                                                 "key_tile",       "key_unroll",   "feature_group",
                                                 "feature_unroll", "value_vectors"};
  std::vector<SpaceParameter> parameters = space.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (modelled.count(parameters[i].name)) continue;
    const int usual = space.usual()[i];
    parameters[i].reason = "not in the model: as in the documented default, or next to it";
    parameters[i].values = [usual, all = parameters[i].values](const SpacePoint& earlier) {
      const std::vector<int> values = all(earlier);
      const auto nearest = std::min_element(values.begin(), values.end(), [&](int a, int b) {
        return std::abs(a - usual) < std::abs(b - usual);
      });
      return nearest == values.end() ? values : std::vector<int>{*nearest};
    };
  }
  return {std::move(parameters), space.schedule(space.usual())};
}

StaticTrials::StaticTrials(KernelSpec spec, Options options)
    : spec_(std::move(spec)), options_(std::move(options)) {}

void StaticTrials::build(const std::vector<std::string>& schedules) {
  const std::string name = kernel_name(spec_);
  std::vector<ChildJob> jobs;
  std::vector<std::string> of_job;
  for (const std::string& schedule : schedules) {
    if (costs_.count(schedule)) continue;
    costs_[schedule];
    const fs::path folder = options_.folder / fmt::format("{:016x}", hash_bytes(schedule));
    fs::create_directories(folder / "kernels");
    jobs.push_back(
        {name,
         {options_.self.string(), "emit-kernel", "--library", "modelled", "--kernel", name,
          "--identity", "modelled", "--schedule", schedule, "--out", folder.string()},
         folder / "log",
         options_.limits});
    of_job.push_back(schedule);
  }
  // A batch ends at its first failure; those that were not started are the next one.
  while (!jobs.empty()) {
    // Looked at when all have ended: the model is a child process as well.
    std::map<size_t, ChildResult> ended;
    run_children(jobs, options_.jobs,
                 [&](size_t i, const ChildResult& result) { ended[i] = result; });
    for (const auto& [i, result] : ended) {
      Cost& cost = costs_.at(of_job[i]);
      const fs::path folder = jobs[i].log.parent_path();
      if (result.ok) {
        cost = cost_of_(folder / "kernels" / (name + ".o"));
      } else {
        cost.status = result.timed_out ? TrialStatus::Timeout : TrialStatus::Compile;
        cost.reason = read_file(jobs[i].log) + result.how;
      }
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
    std::vector<ChildJob> left;
    std::vector<std::string> left_of;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (ended.count(i)) continue;
      left.push_back(jobs[i]);
      left_of.push_back(of_job[i]);
    }
    jobs = std::move(left);
    of_job = std::move(left_of);
  }
}

StaticTrials::Cost StaticTrials::cost_of_(const fs::path& object) const {
  Cost cost;
  std::vector<Loop> loops;
  for (const DisassembledFunction& function : functions_of(disassembly_of(object))) {
    for (Loop& loop : hot_loops(function)) {
      cost.spills += loop.spills;
      // Those of blocks that are visible whole, and those of the others.
      if (multiplies(loop)) loops.push_back(std::move(loop));
    }
  }
  if (loops.empty()) {
    cost.status = TrialStatus::Compile;
    cost.reason = "no loop to judge by: in none most instructions multiply and add";
    return cost;
  }
  std::vector<const Loop*> pointers;
  for (const Loop& loop : loops) pointers.push_back(&loop);
  for (const std::string& cpu : options_.cpus) {
    const std::vector<LoopCost> costs =
        loop_costs(pointers, find_target(spec_.target)->architecture, cpu);
    double cycles = 0;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (!costs[i].cannot.empty()) throw std::runtime_error(costs[i].cannot);
      cycles += costs[i].cycles / static_cast<double>(loops[i].multiply_adds);
    }
    cost.cycles.push_back(cycles / static_cast<double>(loops.size()));
  }
  return cost;
}

const StaticTrials::Cost& StaticTrials::cost_(const std::string& schedule) {
  build({schedule});
  return costs_.at(schedule);
}

TrialOutcome StaticTrials::time(const std::string& schedule, const std::string& incumbent,
                                Effort effort) {
  const Cost own = cost_(schedule), other = cost_(incumbent);
  TrialOutcome outcome;
  outcome.status = own.status;
  outcome.reason = own.reason;
  if (own.status != TrialStatus::Ok) return outcome;
  if (other.status != TrialStatus::Ok)
    throw std::runtime_error(
        fmt::format("the incumbent {} has no cost: {}", incumbent, other.reason));
  double logarithms = 0;
  outcome.least_ratio = HUGE_VAL;
  for (size_t i = 0; i < own.cycles.size(); ++i) {
    const double ratio = other.cycles[i] / own.cycles[i];
    logarithms += std::log(ratio);
    outcome.least_ratio = std::min(outcome.least_ratio, ratio);
  }
  outcome.ratio = std::exp(logarithms / static_cast<double>(own.cycles.size()));
  if (own.spills > other.spills) {
    outcome.status = TrialStatus::Slower;
    outcome.reason = fmt::format("{} spills, with the incumbent {}", own.spills, other.spills);
  } else if (effort == Effort::Final && schedule != incumbent && outcome.ratio < least_gain) {
    outcome.status = TrialStatus::Slower;
    outcome.reason = fmt::format("{:.3f} x the default: less than a model can tell", outcome.ratio);
  }
  return outcome;
}

}  // namespace fovea
