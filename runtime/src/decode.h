// The items of decode: keys in chunks, a record for each row and chunk, rows merged from records.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DECODE_H
#define FOVEA_DECODE_H

#include "chunks.h"
#include "workers.h"

namespace fovea::detail {

// Query rows up to which decode is chosen; any number can be forced.
constexpr int64_t kDecodeRows = 16;

// One KV head of one sequence.
struct GroupState {
  Blocks range;  // the key blocks that some row sees
  int32_t left;  // chunks without a record; changed by __atomic functions alone
};

// Items in order: sequences, KV heads, chunks. Results depend on shapes, lengths and parameters
// alone: chunks begin at every chunk_blocks-th key block, and records are merged in their order,
// whoever made them.
struct DecodeItems {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  const Parameters* parameters;
  Sequences sequences;
  GroupState* groups;  // [sequences][KV heads]
  float* records;      // of the groups one after the other: [chunks][rows of whole tiles][floats]
  int64_t count;
};

// What the pass takes of the shared part of the workspace, in multiples of a slice's alignment, and
// the most items that it can have.
struct DecodeMemory {
  size_t group_bytes, record_bytes;
  int64_t items;
};
fovea_status plan_decode(const Problem& problem, const fovea_kernel_info& kernel,
                         DecodeMemory* memory);

// Finds what each KV head sees; returns the kernel's code. The memory is that of plan_decode.
int decode_items(const Problem& problem, const fovea_kernel_info& kernel,
                 const Parameters& parameters, Sequences sequences, unsigned char* groups,
                 unsigned char* records, const WorkerSlice& slice, DecodeItems* items);

// Runs items by rising index.
class DecodeCursor {
 public:
  explicit DecodeCursor(const DecodeItems& items) : items_(items) {}
  // Returns the kernel's code.
  int run(int64_t item, const WorkerSlice& slice);

 private:
  void look();  // at the group at index_

  const DecodeItems& items_;
  int64_t index_ = 0;    // of a group
  int64_t first_ = 0;    // its first item
  int64_t records_ = 0;  // its first number among the records
  bool is_begun_ = false;
  int64_t b_ = 0, kv_head_ = 0, chunk_floats_ = 0;
  int32_t rows_ = 0;
  Chunks chunks_ = {};
};

}  // namespace fovea::detail
#endif
