// peer_pool.cpp: the peers that are there, each a worker process for each number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "bench/peer_pool.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "bench/caches.h"

namespace fovea::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* suffix = "_worker.py";

// What the peer answered, or its reason not to.
Json answer_of(WorkerProcess& worker, const Json& request, double timeout_s) {
  Json answer = worker.ask(request, timeout_s);
  for (const char* reason : {"cannot", "failed"}) {
    if (answer.contains(reason))
      throw Unavailable(answer[reason].is_string() ? answer[reason].get<std::string>()
                                                   : answer[reason].dump());
  }
  return answer;
}

class PeerContender : public Contender {
 public:
  PeerContender(WorkerProcess& worker, double timeout_s) : worker_(worker), timeout_s_(timeout_s) {}

  double run(const TimedCalls& timed) override {
    const Json answer = answer_of(worker_,
                                  {{"op", "run"},
                                   {"calls", timed.calls},
                                   {"warm_up", timed.warm_up},
                                   {"flush_bytes", timed.cold ? flush_size() : 0}},
                                  timeout_s_);
    if (!answer.contains("seconds") || !answer["seconds"].is_number())
      throw Unavailable("answered a run without seconds: " + answer.dump());
    return answer["seconds"].get<double>();
  }

  void write_output() override { answer_of(worker_, {{"op", "output"}}, timeout_s_); }

 private:
  WorkerProcess& worker_;
  double timeout_s_;
};

}  // namespace

PeerOptions default_peer_options() {
  PeerOptions options;
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  const fs::path source = FOVEA_BENCH_SOURCE_DIR;
  options.workers = prefix / "share/fovea/peers";
  if (!fs::exists(options.workers)) options.workers = source / "bench/peers";
  options.python = source / "build/peers/bin/python";
  return options;
}

std::vector<std::string> known_peers(const PeerOptions& options) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(options.workers, none)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(suffix))
      names.push_back(file.substr(0, file.size() - std::string(suffix).size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

PreparedPeer PeerPool::prepare(const std::string& peer, int threads, const std::string& dtype,
                               const Problem& problem) {
  std::unique_ptr<WorkerProcess>& worker = workers_[{peer, threads}];
  if (!worker || !worker->alive()) {
    fs::create_directories(options_.logs);
    // -B: no compiled files in the folder of the workers.
    worker = std::make_unique<WorkerProcess>(
        std::vector<std::string>{options_.python.string(), "-B",
                                 (options_.workers / (peer + suffix)).string(),
                                 fmt::format("{}", threads)},
        memory_.descriptor(), options_.logs / fmt::format("{}-{}.log", peer, threads));
  }
  Json request = problem.description();
  request["op"] = "case";
  request["dtype"] = dtype;
  const Json answer = answer_of(*worker, request, options_.timeout_s);
  PreparedPeer ready;
  ready.version = answer.value("version", "");
  ready.notes = answer.value("notes", "");
  ready.prepare_s = answer.value("prepare_s", 0.0);
  ready.contender = std::make_unique<PeerContender>(*worker, options_.timeout_s);
  return ready;
}

}  // namespace fovea::bench
