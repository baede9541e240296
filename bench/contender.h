// contender.h: something that computes a problem and can be timed.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_CONTENDER_H
#define FOVEA_BENCH_CONTENDER_H

#include <stdexcept>
#include <string>

namespace fovea::bench {

// It cannot take part, or no longer; what() says why.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TimedCalls {
  int calls = 1;
  bool warm_up = true;  // one more call before, not timed
  bool cold = false;    // caches are flushed before every call, not timed
};

class Contender {
 public:
  virtual ~Contender() = default;
  // Seconds of the calls together.
  virtual double run(const TimedCalls& calls) = 0;
  // Copies the result of the last call into the output array in shared memory.
  virtual void write_output() = 0;
  // What it may be off by beside the error of every contender, by what it was given.
  virtual double more_error() const { return 0; }
  // That a call reads and writes, if it is not what others do; else 0.
  virtual double bytes() const { return 0; }
};

}  // namespace fovea::bench

#endif
