// report.h: what a run of the benchmark found.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_REPORT_H
#define FOVEA_BENCH_REPORT_H

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "bench/samples.h"

namespace fovea::bench {

// One contender of a case.
struct Row {
  std::string engine;  // "fovea", or the name of a peer
  std::string version, notes;
  std::string target, cache = "none", schedule, overrides;  // of fovea's kernels
  std::string cannot;    // why there is no measurement; empty: there is one
  double prepare_s = 0;  // of a peer: compiling, building masks; not in the times
  double bytes = 0;      // of a call, if not those of the case
  int calls = 1;         // of one sample
  Samples seconds;       // of one call
  Samples peak_gflops;   // one sample in each round
  Error error;
  std::string command;

  bool is_fovea() const { return engine == "fovea"; }
  // It takes part in comparisons: the plain loop does not.
  bool is_peer() const { return !is_fovea() && engine != "plain"; }
};

// One problem on so many threads: its contenders, measured in turn.
struct CaseResult {
  std::string variant, pass, dtype, shape, settings;
  int threads = 1;
  bool cold = false;
  double flops = 0, bytes = 0;  // useful ones of a call
  Samples stream_gbps;
  std::vector<Row> rows;

  // Decode is bound by memory: GB/s of inputs and output, each once, beside a plain read of as many
  // bytes of keys and values, say more than operations.
  bool is_decode() const { return pass == "decode"; }
  double gbps(const Row& row) const;
  double fraction_of_stream(const Row& row) const;
  double gflops(const Row& row) const;
  double fraction_of_peak(const Row& row) const;
  // The fastest measured peer; nullptr: none.
  const Row* best_peer() const;
};

struct Report {
  std::string date;  // UTC, "2026-01-31"
  std::string cpu;
  std::vector<std::string> versions;  // "fovea 0.1.0", …
  std::vector<std::string> missing;   // peers that are not there at all, with the reason
  std::vector<CaseResult> cases;
};

nlohmann::ordered_json report_json(const Report& report);

// One block for each case, for a terminal.
std::string report_text(const Report& report);

// Where, when and of what; then a table: one row for each case and kernel, one column for each
// peer.
std::string report_markdown(const Report& report);

}  // namespace fovea::bench

#endif
