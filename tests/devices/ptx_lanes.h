// ptx_lanes.h: where the threads of a warp meet in memory, from the text of a PTX kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_DEVICES_PTX_LANES_H
#define FOVEA_TESTS_DEVICES_PTX_LANES_H

#include <string>

namespace fovea::test {

// The worst access of each kind. Shared memory: how many different words the threads that are
// served together want of one bank; 1 is none too many. Global memory: sectors of 32 bytes that a
// load touches, in percent of the fewest that hold as much.
struct WarpAccesses {
  int products = 0, values = 0;  // in the innermost loops
  int block = 0;                 // elsewhere in the loops over blocks of keys
  int tile = 0;                  // once for each block of rows
  int sectors_percent = 0;       // of loads in the loops over blocks of keys
  int read_bits = 0;             // of the widest of these loads

  bool operator==(const WarpAccesses&) const = default;
};

// Assumes: threads_x threads along x, the first warp whole; every argument is 4096, so rows are far
// apart and aligned; registers that a loop changes have the value from before it, since all threads
// change them alike; what memory holds is 0.
WarpAccesses warp_accesses(const std::string& ptx, int threads_x);

}  // namespace fovea::test

#endif
