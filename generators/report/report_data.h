// report_data.h: what a report is made of: rows of `bench --json` and lines of a tuning database.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_REPORT_DATA_H
#define FOVEA_GENERATORS_REPORT_REPORT_DATA_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fovea::report {

struct BenchRow {
  std::string engine, version, variant, pass, dtype, shape, settings, target, kv_cache, schedule;
  std::string notes, cannot, command;
  int threads = 1;
  bool cold = false;
  double median_s = 0, mad_s = 0, gflops = 0, gbps = 0, stream_gbps = 0, peak_gflops = 0;
  double fraction_of_peak = 0, max_abs_error = 0, error_bound = 0;
  int64_t n = 0;

  bool is_fovea() const { return engine == "fovea"; }
  bool is_measured() const { return cannot.empty(); }
  bool is_decode() const { return pass == "decode"; }
  // Operations of a byte of inputs and output.
  double intensity() const { return gbps > 0 ? gflops / gbps : 0; }
  // Of the limit that the pass has: reading for decode, multiply-adds for others.
  double fraction() const {
    return is_decode() ? (stream_gbps > 0 ? gbps / stream_gbps : 0) : fraction_of_peak;
  }
  // The name of a line or bar: engine, and what tells kernels apart.
  std::string label() const;
  // Everything but the engine and how it was scheduled: rows of one case are comparable.
  std::string case_name() const;
  // The field of the shape, as sq=2048; 0 if it is not there.
  int64_t extent(const std::string& name) const;
  std::string shape_without(const std::vector<std::string>& names) const;
};

// One candidate that a tuner tried.
struct TuningRow {
  std::string kernel, workload, status, schedule;
  double speedup = 0;  // over the documented default; 0: was not timed
};

struct ReportData {
  std::vector<std::string> machines;  // "CPU, date; versions", one for each file
  std::vector<std::string> missing;   // peers that were not there
  std::vector<std::string> sources;   // names of the files
  std::vector<std::string> remarks;   // what could not be read
  std::vector<BenchRow> rows;
  std::vector<TuningRow> tuning;
};

// Adds what a file holds: the object that `bench --json` prints, or one JSON value a line. Throws
// std::invalid_argument for a file without any row; lines that are cut are remarks.
void add_bench_rows(const std::string& name, const std::string& text, ReportData& data);
void add_tuning_lines(const std::string& name, const std::string& text, ReportData& data);

}  // namespace fovea::report

#endif
