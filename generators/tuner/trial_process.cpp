// trial_process.cpp: requests and replies over a socket.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/trial_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>

namespace fovea {

struct TrialProcess::Request {
  size_t problem = 0;
  bool write = false;  // else: run
  bench::TimedCalls calls;
};

struct TrialProcess::Reply {
  bool ok = false, out_of_memory = false;
  double seconds = 0;
  char message[400] = {};
};

namespace {

// Address space of this process.
size_t own_bytes() {
  size_t pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// On one thread the time of its CPU, which other programs that want the same CPU do not lengthen;
// else that of a clock.
double timed_run(bench::Contender& contender, const bench::TimedCalls& calls, int threads) {
  if (threads > 1) return contender.run(calls);
  if (calls.warm_up) contender.run({1, false, false});
  const double begin = cpu_seconds();
  contender.run({calls.calls, false, false});
  return cpu_seconds() - begin;
}

void begin_child(pid_t parent, size_t bytes) {
  // Not asked for when the parent had ended before.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  // An interruption is the parent's to answer.
  signal(SIGINT, SIG_IGN);
  const rlimit no_core = {0, 0}, memory = {own_bytes() + bytes, own_bytes() + bytes};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_AS, &memory);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(nothing, descriptor);
}

}  // namespace

TrialProcess::TrialProcess(const std::filesystem::path& library, const bench::KernelChoice& choice,
                           const std::vector<const bench::Problem*>& problems,
                           const TrialLimits& limits)
    : limits_(limits) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  std::fflush(nullptr);  // else the child holds copies of what is not written yet
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    for (const int end : ends) close(end);
    throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid_ == 0) {
    close(ends[0]);
    begin_child(parent, limits.bytes);
    serve_(ends[1], library, choice, problems);
  }
  close(ends[1]);
  socket_ = ends[0];
}

TrialProcess::~TrialProcess() { end_(); }

void TrialProcess::serve_(int socket, const std::filesystem::path& library,
                          const bench::KernelChoice& choice,
                          const std::vector<const bench::Problem*>& problems) {
  std::map<size_t, std::unique_ptr<bench::Contender>> contenders;
  Request request;
  while (read(socket, &request, sizeof request) == static_cast<ssize_t>(sizeof request)) {
    Reply reply;
    const auto say = [&](const char* what) {
      std::strncpy(reply.message, what, sizeof reply.message - 1);
    };
    try {
      std::unique_ptr<bench::Contender>& contender = contenders[request.problem];
      if (!contender)
        contender = bench::kernel_contender(library, choice, *problems.at(request.problem));
      if (request.write) {
        contender->write_output();
      } else {
        reply.seconds = timed_run(*contender, request.calls, choice.threads);
      }
      reply.ok = true;
    } catch (const std::bad_alloc&) {
      reply.out_of_memory = true;
      say("it asks for more memory than it may have");
    } catch (const std::exception& error) {
      say(error.what());
    }
    if (write(socket, &reply, sizeof reply) != static_cast<ssize_t>(sizeof reply)) break;
  }
  _exit(0);
}

TrialProcess::Reply TrialProcess::ask_(const Request& request, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (pid_ < 0) throw TrialFailure(TrialStatus::Crash, "it has ended before");
  Reply reply;
  size_t received = 0;
  if (send(socket_, &request, sizeof request, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof request))
    throw TrialFailure(TrialStatus::Crash, end_());
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  while (received < sizeof reply) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd wait = {socket_, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      end_();
      throw TrialFailure(TrialStatus::Timeout, fmt::format("no answer within {:.3g} s", seconds));
    }
    const ssize_t count =
        read(socket_, reinterpret_cast<char*>(&reply) + received, sizeof reply - received);
    if (count <= 0) throw TrialFailure(TrialStatus::Crash, end_());
    received += static_cast<size_t>(count);
  }
  if (reply.ok) return reply;
  end_();
  throw TrialFailure(reply.out_of_memory ? TrialStatus::Memory : TrialStatus::Wrong, reply.message);
}

double TrialProcess::run(size_t problem, const bench::TimedCalls& calls, double expected_s) {
  return ask_({problem, false, calls}, limits_.call_s + 2 * expected_s).seconds;
}

void TrialProcess::write_output(size_t problem) { ask_({problem, true, {}}, limits_.call_s); }

// Kills the process if it still runs, and says how it ended.
std::string TrialProcess::end_() {
  if (pid_ < 0) return "it has ended before";
  close(socket_);
  // A process that crashes closes its socket a moment before it can be waited for.
  int status = 0;
  pid_t ended = 0;
  for (int looks = 0; looks < 100 && ended == 0; ++looks) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) usleep(1000);
  }
  if (ended == 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = socket_ = -1;
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace fovea
