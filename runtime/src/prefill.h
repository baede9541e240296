// The items of prefill: which there are, their order, how one runs.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PREFILL_H
#define FOVEA_PREFILL_H

#include "buffers.h"
#include "workers.h"

namespace fovea::detail {

// Items in order: sequences, KV heads, row blocks from the last to the first, the query heads that
// share the KV head. So workers stay with the keys and values of one head while those are in cache,
// and under a causal mask each head begins with its longest item: the last ones of all are short.
// Blocks past the end of a sequence are no items.
struct PrefillItems {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  const Parameters* parameters;
  Sequences sequences;
  int64_t count;
};

// The most items that the pass can have; of a ragged batch what it has.
int64_t most_prefill_items(const Problem& problem, const fovea_kernel_info& kernel);

PrefillItems prefill_items(const Problem& problem, const fovea_kernel_info& kernel,
                           const Parameters& parameters, Sequences sequences);

// Runs items by rising index.
class PrefillCursor {
 public:
  explicit PrefillCursor(const PrefillItems& items) : items_(items) {}
  // Returns the kernel's code.
  int run(int64_t item, const WorkerSlice& slice);

 private:
  const PrefillItems& items_;
  int64_t index_ = 0;   // into the sequences
  int64_t first_ = 0;   // index of the first item of the sequence there
  int64_t blocks_ = 0;  // its row blocks
  bool is_begun_ = false;
};

}  // namespace fovea::detail
#endif
