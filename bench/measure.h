// measure.h: all cases of a request, every contender of a case in turn.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_MEASURE_H
#define FOVEA_BENCH_MEASURE_H

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

#include "bench/kernel_build.h"
#include "bench/kv_cache.h"
#include "bench/peer_pool.h"
#include "bench/report.h"

namespace fovea::bench {

struct BenchRequest {
  std::vector<std::string> variants;
  std::string pass = "prefill";
  std::vector<std::string> dtypes;
  std::vector<ExampleShape> shapes;
  std::vector<std::string> targets;          // empty: what the dispatcher would choose
  std::vector<KvCacheChoice> caches = {{}};  // what kernels read keys and values from
  std::vector<std::string> schedules;        // overrides of the default, "" the default itself
  std::vector<int> threads;
  std::vector<std::string> setting_words;  // NAME=VALUE
  std::vector<std::string> peers;
  int rounds = 15;
  double sample_s = 0.03;  // a sample repeats the call until it lasts so long
  double longest_s = 4;    // of all samples of a contender; three are taken in any case
  bool cold = false;
  std::string program;  // in the commands of rows
  BuildOptions build;
  PeerOptions peer_options;
};

// Checks every result against the double reference, then measures. Progress goes to stderr. Throws
// std::invalid_argument for what is not allowed.
Report measure(const BenchRequest& request, const std::vector<Variant>& declared);

}  // namespace fovea::bench

#endif
