// worker_process.h: a process that answers JSON lines.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_WORKER_PROCESS_H
#define FOVEA_BENCH_WORKER_PROCESS_H

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fovea::bench {

// The process finds a socket as descriptor 3, over which it reads requests and answers each with
// one line, and the shared memory as descriptor 4. What it or its libraries print goes to `log`.
class WorkerProcess {
 public:
  // Throws Unavailable when the program cannot be started.
  WorkerProcess(const std::vector<std::string>& command, int shared_memory,
                std::filesystem::path log);
  // Closes the socket, at which a worker ends; one that does not is killed.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The answer. Between two requests the process is stopped: idle threads of some libraries spin
  // for hundreds of milliseconds, on CPUs that others are being measured on. Throws Unavailable,
  // after which the worker is gone: no answer in time, an end of the process, an answer that is no
  // JSON object.
  nlohmann::ordered_json ask(const nlohmann::ordered_json& request, double timeout_s);

  bool alive() const { return pid_ > 0; }

 private:
  // Kills the process and says how it ended, with its last words.
  std::string end_(const std::string& why);

  pid_t pid_ = -1;
  int socket_ = -1;
  std::filesystem::path log_;
  std::string received_;
};

}  // namespace fovea::bench

#endif
