// worker_client.cpp: a socket that carries one byte each way; everything else is in shared memory.
// SPDX-License-Identifier: Apache-2.0
#include "worker_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <vector>

#include "shared_memory.h"

namespace fovea::test {

WorkerClient& WorkerClient::instance() {
  static WorkerClient client;
  return client;
}

WorkerClient::~WorkerClient() {
  if (process_ > 0) stop_();
}

void WorkerClient::start_() {
  std::vector<std::string> words;
  std::istringstream command(FOVEA_TEST_WORKER);
  for (std::string word; command >> word;) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  const int memory = SharedMemory::instance().file();
  process_ = fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    // Out of the way of the numbers that they get.
    const int socket = fcntl(sockets[1], F_DUPFD, 10), file = fcntl(memory, F_DUPFD, 10);
    dup2(socket, worker_socket);
    dup2(file, worker_memory);
    close(socket);
    close(file);
    execvp(arguments[0], arguments.data());
    const char* text = "the worker cannot be started\n";
    (void)!write(STDERR_FILENO, text, std::strlen(text));
    _exit(127);
  }
  close(sockets[1]);
  socket_ = sockets[0];
}

// Closing the socket ends the worker.
std::string WorkerClient::stop_() {
  close(socket_);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = socket_ = -1;
  if (WIFSIGNALED(status))
    return "the worker ended with signal " + std::to_string(WTERMSIG(status));
  return "the worker ended with status " + std::to_string(WEXITSTATUS(status));
}

std::string WorkerClient::ask(const std::function<void(SharedCopy&)>& fill,
                              const std::function<void(const SharedMessage&)>& read_answer) {
  const std::lock_guard lock(mutex_);
  const bool is_new = process_ < 0;
  if (is_new) start_();
  SharedCopy copy;
  copy.everything = is_new;
  copy.message() = {};
  copy.message().forced = copy.text(std::getenv("FOVEA_TARGET"));
  fill(copy);
  copy.changes();
  char byte = 1;
  if (send(socket_, &byte, 1, MSG_NOSIGNAL) != 1 || ::read(socket_, &byte, 1) != 1) return stop_();
  copy.copy_back();
  read_answer(copy.message());
  return "";
}

}  // namespace fovea::test
