// worker_client.h: the process that runs calls. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ARM64_WORKER_CLIENT_H
#define FOVEA_TESTS_ARM64_WORKER_CLIENT_H

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>

#include "shared_copy.h"

namespace fovea::test {

// Starts FOVEA_TEST_WORKER, a command whose words are separated by spaces, at the first call, and
// anew when it has died.
class WorkerClient {
 public:
  static WorkerClient& instance();
  ~WorkerClient();
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;

  // Fills a message, lets the worker answer, reads the answer; one at a time. Empty, or how the
  // worker died.
  std::string ask(const std::function<void(SharedCopy&)>& fill,
                  const std::function<void(const SharedMessage&)>& read);

 private:
  WorkerClient() = default;
  void start_();
  std::string stop_();

  std::mutex mutex_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace fovea::test

#endif
