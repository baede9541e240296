// peer_pool.h: the peers that are there, each a worker process for each number of threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PEER_POOL_H
#define FOVEA_BENCH_PEER_POOL_H

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/problem.h"
#include "bench/worker_process.h"

namespace fovea::bench {

struct PeerOptions {
  std::filesystem::path python;   // interpreter of the environment that scripts/peers.sh makes
  std::filesystem::path workers;  // folder of the <peer>_worker.py
  std::filesystem::path logs;     // folder for what they print
  double timeout_s = 180;  // for one answer: loading a library, compiling, the calls of a sample
};

// What scripts/peers.sh installs and where the workers lie: beside this program when it is
// installed, else in its source tree.
PeerOptions default_peer_options();

// "sdpa" of sdpa_worker.py, …, sorted.
std::vector<std::string> known_peers(const PeerOptions& options);

// A peer that is ready for a problem.
struct PreparedPeer {
  std::unique_ptr<Contender> contender;
  std::string version, notes;
  double prepare_s = 0;
};

// Workers stay alive from case to case, since loading a library takes seconds; one that ended is
// started anew for the next case.
class PeerPool {
 public:
  PeerPool(PeerOptions options, SharedMemory& memory)
      : options_(std::move(options)), memory_(memory) {}

  // Throws Unavailable with the reason of the peer.
  PreparedPeer prepare(const std::string& peer, int threads, const std::string& dtype,
                       const Problem& problem);

 private:
  PeerOptions options_;
  SharedMemory& memory_;
  std::map<std::pair<std::string, int>, std::unique_ptr<WorkerProcess>> workers_;
};

}  // namespace fovea::bench

#endif
