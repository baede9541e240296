// fake_cuda.h: a CUDA driver that computes nothing and remembers what it was told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace fovea::test {

struct FakeLaunch {
  unsigned blocks[3], threads[3], shared_bytes;
  void* stream;
  void* context;  // current on the thread
};

// What a test sets, and what it reads. The driver's own lock guards the counters.
struct FakeCuda {
  int devices, capability, init_result;  // before the first use
  int launch_result, load_result;        // of all calls from now on
  int allocations_left;                  // then there is no more memory; negative: no limit

  int launches, modules, allocations, live_allocations, copies, waits, retained, pushed, popped;
  FakeLaunch launch[64];  // the first ones
};

constexpr int fake_launch_failure = 701;  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES

}  // namespace fovea::test
