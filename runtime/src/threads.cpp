// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <errno.h>
#include <fovea/fovea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <initializer_list>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace fovea::detail {
namespace {

constexpr size_t kPathCapacity = 1024;

// The beginning of a small file as text; false if it cannot be read.
bool read_file(const char* path, char* text, size_t capacity) {
#if defined(__unix__) || defined(__APPLE__)
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  size_t length = 0;
  while (length + 1 < capacity) {
    const ssize_t got = read(file, text + length, capacity - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  close(file);
  text[length] = '\0';
  return length > 0;
#else
  (void)path, (void)text, (void)capacity;
  return false;
#endif
}

int32_t tighter(int32_t a, int32_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

bool read_in_group(const char* root, const char* controller, const char* group, const char* name,
                   char* text, size_t capacity) {
  char path[kPathCapacity];
  const int length = snprintf(path, sizeof(path), "%s%s%s/%s", root, controller, group, name);
  return length > 0 && static_cast<size_t>(length) < sizeof(path) &&
         read_file(path, text, capacity);
}

// One group's limit; version 1 keeps its quota in two files below a controller's own folder.
int32_t group_limit(const char* root, const char* group, bool version1) {
  char text[128];
  if (!version1)
    return read_in_group(root, "", group, "cpu.max", text, sizeof(text)) ? cpus_from_cpu_max(text)
                                                                         : 0;
  for (const char* controller : {"/cpu", "/cpu,cpuacct"}) {
    if (!read_in_group(root, controller, group, "cpu.cfs_quota_us", text, sizeof(text))) continue;
    const long long quota = strtoll(text, nullptr, 10);
    if (!read_in_group(root, controller, group, "cpu.cfs_period_us", text, sizeof(text))) continue;
    return cpus_from_quota(quota, strtoll(text, nullptr, 10));
  }
  return 0;
}

// Inside a container the path that the kernel names may not exist below the mount: the walk up
// still ends at the root, which then is the container's own group.
int32_t limit_up_to_root(const char* root, char* group, bool version1) {
  int32_t limit = 0;
  for (;;) {
    while (group[0] != '\0' && group[strlen(group) - 1] == '/') group[strlen(group) - 1] = '\0';
    limit = tighter(limit, group_limit(root, group, version1));
    char* slash = strrchr(group, '/');
    if (slash == nullptr) return limit;
    *slash = '\0';
  }
}

// Whether "cpu" is in a comma-separated list of controllers.
bool names_cpu(const char* list, const char* end) {
  while (list < end) {
    const char* comma =
        static_cast<const char*>(memchr(list, ',', static_cast<size_t>(end - list)));
    const char* stop = comma != nullptr ? comma : end;
    if (stop - list == 3 && memcmp(list, "cpu", 3) == 0) return true;
    list = stop + 1;
  }
  return false;
}

}  // namespace

int32_t parse_thread_count(const char* text) {
  if (text == nullptr || text[0] < '0' || text[0] > '9') return 0;
  char* end = nullptr;
  errno = 0;
  const long value = strtol(text, &end, 10);
  return *end == '\0' && errno == 0 && value >= 1 && value <= INT32_MAX
             ? static_cast<int32_t>(value)
             : 0;
}

int32_t cpus_from_quota(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  const int64_t whole = quota / period + (quota % period != 0 ? 1 : 0);
  return whole < INT32_MAX ? static_cast<int32_t>(whole) : INT32_MAX;
}

int32_t cpus_from_cpu_max(const char* text) {
  char* end = nullptr;
  const long long quota = strtoll(text, &end, 10);  // "max" gives 0: no limit
  return end == text ? 0 : cpus_from_quota(quota, strtoll(end, nullptr, 10));
}

int32_t cgroup_cpu_limit(const char* process_file, const char* root) {
  // Lines are hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers. Both
  // versions may be mounted.
  char text[4096];
  if (!read_file(process_file, text, sizeof(text))) return 0;
  int32_t limit = 0;
  for (char* line = text; line != nullptr && *line != '\0';) {
    char* newline = strchr(line, '\n');
    if (newline != nullptr) *newline = '\0';
    char* controllers = strchr(line, ':');
    char* path = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (path != nullptr) {
      const bool version2 = path == controllers + 1;
      if (version2 || names_cpu(controllers + 1, path)) {
        limit = tighter(limit, limit_up_to_root(root, path + 1, !version2));
      }
    }
    line = newline != nullptr ? newline + 1 : nullptr;
  }
  return limit;
}

int32_t affinity_cpu_count() {
#if defined(__linux__)
  // The kernel refuses masks shorter than its own; 8192 CPUs are more than any configuration has.
  cpu_set_t masks[8192 / CPU_SETSIZE];
  memset(masks, 0, sizeof(masks));
  if (sched_getaffinity(0, sizeof(masks), masks) == 0) {
    const int count = CPU_COUNT_S(sizeof(masks), masks);
    if (count > 0) return count;
  }
#endif
#if defined(__unix__) || defined(__APPLE__)
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0 && online <= INT32_MAX) return static_cast<int32_t>(online);
#endif
  return 1;
}

bool pool_has_threads() {
#if defined(__unix__) || defined(__APPLE__)
  static std::atomic<pid_t> owner{0};
  const pid_t self = getpid();
  pid_t first = 0;
  return owner.compare_exchange_strong(first, self) || first == self;
#else
  return true;
#endif
}

}  // namespace fovea::detail

extern "C" int32_t fovea_default_threads(void) {
  using namespace fovea::detail;
  // Read once, so that the workspace size of a call cannot change under the caller.
  static std::atomic<int32_t> cached{0};
  int32_t threads = cached.load(std::memory_order_relaxed);
  if (threads != 0) return threads;
  threads = parse_thread_count(getenv("HL_NUM_THREADS"));
  if (threads == 0) {
    const int32_t limit = cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    threads = affinity_cpu_count();
    if (limit != 0 && limit < threads) threads = limit;
  }
  // Racing first calls might read different affinities; all of them return the first answer stored.
  int32_t unset = 0;
  return cached.compare_exchange_strong(unset, threads, std::memory_order_relaxed) ? threads
                                                                                   : unset;
}
