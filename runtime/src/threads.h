// How many threads this process may use: environment, affinity mask, container quota.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_THREADS_H
#define FOVEA_THREADS_H

#include <stddef.h>
#include <stdint.h>

namespace fovea::detail {

// A positive number of threads, or 0 if the text is none ("4" → 4; "", "0", "-1", "4x" → 0).
int32_t parse_thread_count(const char* text);

// CPUs that "quota period" (cgroup v2's cpu.max) or two numbers of v1 allow, rounded up; 0: no
// limit.
int32_t cpus_from_cpu_max(const char* text);
int32_t cpus_from_quota(int64_t quota, int64_t period);

// The tightest quota on the way from this process's cgroup to the root; 0: no limit. `process_file`
// is /proc/self/cgroup and `root` /sys/fs/cgroup, except in tests.
int32_t cgroup_cpu_limit(const char* process_file, const char* root);

int32_t affinity_cpu_count();  // at least 1

// False in a child of fork() whose parent has used the library's pool: the pool is there, its
// threads are not, and waiting for them would never end.
bool pool_has_threads();

}  // namespace fovea::detail
#endif
