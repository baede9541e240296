// worker_process.cpp: a process that answers JSON lines.
// SPDX-License-Identifier: Apache-2.0
#include "bench/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "bench/contender.h"

extern char** environ;

namespace fovea::bench {
namespace {

constexpr double patience_at_end_s = 2;

std::string last_line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

std::string how_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& command, int shared_memory,
                             std::filesystem::path log)
    : log_(std::move(log)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Unavailable(fmt::format("no socket: {}", std::strerror(errno)));
  // Out of the way of the numbers that the worker is to see.
  const int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  const int memory = fcntl(shared_memory, F_DUPFD_CLOEXEC, 10);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs, 3);
  posix_spawn_file_actions_adddup2(&actions, memory, 4);
  // A group of its own: what it starts (compilers) ends with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  const int error =
      posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  close(memory);
  close(ends[1]);
  socket_ = ends[0];
  if (error != 0) {
    pid_ = -1;
    close(socket_);
    throw Unavailable(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  }
}

WorkerProcess::~WorkerProcess() {
  if (!alive()) return;
  kill(-pid_, SIGCONT);
  shutdown(socket_, SHUT_RDWR);
  const auto begin = std::chrono::steady_clock::now();
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
        patience_at_end_s) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  close(socket_);
}

std::string WorkerProcess::end_(const std::string& why) {
  // It may be ending by itself; how is worth knowing.
  int status = 0;
  bool ended = false;
  for (int i = 0; i < 40 && !ended; ++i) {
    ended = waitpid(pid_, &status, WNOHANG) == pid_;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(-pid_, SIGKILL);
  if (!ended) waitpid(pid_, nullptr, 0);
  pid_ = -1;
  close(socket_);
  const std::string last = last_line_of(log_);
  return fmt::format("{}{}{}", why, ended ? ": " + how_ended(status) : "",
                     last.empty() ? "" : fmt::format("; its last words: {}", last));
}

nlohmann::ordered_json WorkerProcess::ask(const nlohmann::ordered_json& request, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  if (!alive()) throw Unavailable("its process is gone");
  kill(-pid_, SIGCONT);
  const std::string line = request.dump() + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) throw Unavailable(end_("its process ended"));
    sent += static_cast<size_t>(n);
  }
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  while (received_.find('\n') == std::string::npos) {
    const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
    pollfd waiting = {socket_, POLLIN, 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left * 1e3) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Unavailable(end_(fmt::format("no answer within {:g} s", timeout_s)));
    char buffer[4096];
    const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
    if (n <= 0) throw Unavailable(end_("its process ended"));
    received_.append(buffer, static_cast<size_t>(n));
  }
  const size_t end = received_.find('\n');
  const std::string answer = received_.substr(0, end);
  received_.erase(0, end + 1);
  try {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(answer);
    if (json.is_object()) {
      kill(-pid_, SIGSTOP);
      return json;
    }
  } catch (const nlohmann::ordered_json::exception&) {
  }
  throw Unavailable(end_(fmt::format("answered '{}', not a JSON object", answer.substr(0, 60))));
}

}  // namespace fovea::bench
