// tuning_record.h: one line of a tuning database: a schedule of a kernel, and what came of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DATABASE_TUNING_RECORD_H
#define FOVEA_GENERATORS_DATABASE_TUNING_RECORD_H

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fovea {

// Where a schedule was timed.
struct TuningEnvironment {
  std::string cpu;        // family: "amd-zen4", "unknown"
  std::string cpu_model;  // as the system names it
  std::string features;   // "sse41 avx …"
  std::string halide, fovea;
  std::string compiler;  // identity of the program that made the kernel

  friend bool operator==(const TuningEnvironment&, const TuningEnvironment&) = default;
};

// Of this machine and this program.
TuningEnvironment this_environment();

// What a schedule was tuned for.
struct Workload {
  std::string name;                 // of the class: "any", "short", "long"
  std::vector<std::string> shapes;  // of its calls: b=1,hq=8,…
  std::string settings;             // of the variant's parameters, beside their examples
  int threads = 1;

  friend bool operator==(const Workload&, const Workload&) = default;
};

// Compiled and right: ok; right, but so much slower than the incumbent that it was not timed
// further: slower. The others say why there are no times.
enum class TrialStatus { Ok, Slower, Compile, Crash, Timeout, Memory, Wrong };
const char* status_name(TrialStatus status);

// How carefully it was timed. What was timed with more effort answers requests for less.
enum class Effort { Screen, Compare, Final };
const char* effort_name(Effort effort);

// Calls of one shape: samples of the schedule and, taken in turn with them, of the one it was
// compared with.
struct ShapeTiming {
  std::string shape;
  std::vector<double> seconds, incumbent_seconds;

  friend bool operator==(const ShapeTiming&, const ShapeTiming&) = default;
};

struct TuningRecord {
  static constexpr int schema = 1;

  std::string kernel;        // of kernel_name()
  std::string variant_hash;  // of the declaration
  std::string target;        // as Halide writes it
  Workload workload;
  TuningEnvironment environment;
  std::string schedule, incumbent;  // all parameters; what it was timed beside
  TrialStatus status = TrialStatus::Ok;
  std::string reason;  // of another status
  Effort effort = Effort::Screen;
  // What a schedule was judged by that was not run: "llvm-mca: cortex-a76, neoverse-n1". Empty: it
  // was verified and timed.
  std::string judged_by;
  double max_abs_error = 0, error_bound = 0;
  std::vector<ShapeTiming> timings;
  double speedup = 0;  // over the documented default, geometric mean over the shapes; 0: not timed
  std::string date;    // UTC, "2026-01-31"

  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;
};

// Keys in a fixed order; parse is the inverse. Throws std::invalid_argument naming the field that
// is missing, of another type, or has a value that is not allowed.
std::string record_line(const TuningRecord& record);
nlohmann::ordered_json record_json(const TuningRecord& record);
TuningRecord parse_record(const std::string& line);

}  // namespace fovea

#endif
