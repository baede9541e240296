// child_process.cpp: running programs beside this one.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <thread>

#include "generators/emit/files.h"

extern char** environ;

namespace fovea {
namespace {

pid_t start(const ChildJob& job) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, job.log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& a : job.command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, so that what it starts can be killed with it.
  if (job.limits.seconds > 0) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw std::runtime_error(fmt::format("cannot start '{}' with its log in {}: {}", job.command[0],
                                         job.log.string(), std::strerror(error)));
  if (job.limits.bytes > 0) {
    const rlimit limit = {job.limits.bytes, job.limits.bytes};
    prlimit(pid, RLIMIT_AS, &limit, nullptr);  // a process that has ended already needs none
  }
  return pid;
}

using Clock = std::chrono::steady_clock;

struct Running {
  size_t job = 0;
  Clock::time_point end = Clock::time_point::max();
  bool killed = false;
};

// The next of the running processes that ends; those whose time is over are killed meanwhile.
pid_t wait_for_one(std::map<pid_t, Running>& running, int& status) {
  constexpr auto between_looks = std::chrono::milliseconds(5);
  const bool limited = std::any_of(running.begin(), running.end(), [](const auto& r) {
    return r.second.end != Clock::time_point::max();
  });
  for (;;) {
    const pid_t pid = waitpid(-1, &status, limited ? WNOHANG : 0);
    if (pid != 0) return pid;
    for (auto& [child, r] : running) {
      if (!r.killed && Clock::now() > r.end) r.killed = kill(-child, SIGKILL) == 0;
    }
    std::this_thread::sleep_for(between_looks);
  }
}

ChildResult result_of(int status) {
  if (WIFEXITED(status))
    return {WEXITSTATUS(status) == 0, fmt::format("exit status {}", WEXITSTATUS(status))};
  return {false, fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
}

}  // namespace

bool run_children(const std::vector<ChildJob>& jobs, int at_once,
                  const std::function<void(size_t, const ChildResult&)>& finished) {
  if (at_once < 1)
    throw std::invalid_argument(
        fmt::format("{} processes at once: allowed is 1 and more", at_once));
  std::map<pid_t, Running> running;
  size_t next = 0;
  bool ok = true;
  std::exception_ptr not_started;
  while ((ok && next < jobs.size()) || !running.empty()) {
    if (ok && next < jobs.size() && running.size() < static_cast<size_t>(at_once)) {
      try {
        Running one{next};
        const double seconds = jobs[next].limits.seconds;
        if (seconds > 0)
          one.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(seconds));
        running[start(jobs[next])] = one;
      } catch (const std::exception&) {
        // Reported once the others have ended: nobody would wait for them.
        not_started = std::current_exception();
        ok = false;
      }
      ++next;
      continue;
    }
    int status = 0;
    const pid_t pid = wait_for_one(running, status);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0)
      throw std::runtime_error(
          fmt::format("cannot wait for child processes: {}", std::strerror(errno)));
    const auto job = running.find(pid);
    if (job == running.end()) continue;
    ChildResult result = result_of(status);
    if (job->second.killed) {
      result.timed_out = true;
      result.how = fmt::format("no end after {} s", jobs[job->second.job].limits.seconds);
    }
    ok = ok && result.ok;
    finished(job->second.job, result);
    running.erase(job);
  }
  if (not_started) std::rethrow_exception(not_started);
  return ok;
}

void run_program(const std::vector<std::string>& command, const std::filesystem::path& log) {
  run_children({{command[0], command, log}}, 1, [&](size_t, const ChildResult& result) {
    if (!result.ok)
      throw std::runtime_error(
          fmt::format("'{}' failed with {}:\n{}", command[0], result.how, read_file(log)));
  });
}

}  // namespace fovea
