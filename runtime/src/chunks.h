// The keys of a decode call in chunks: where they begin, which a ring has given up.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_CHUNKS_H
#define FOVEA_CHUNKS_H

#include "sequences.h"

namespace fovea::detail {

struct Blocks {
  int32_t begin, end;  // key blocks
};

// The chunks of a KV head by number: chunk n begins at key block n * chunk_blocks, so that a row's
// result does not depend on what other rows see. Those of the hole are left out: a ring has given
// up all their keys.
struct Chunks {
  int32_t first, end, hole_begin, hole_end;

  int32_t count() const { return end - first - (hole_end - hole_begin); }
  int32_t at(int32_t index) const {
    const int32_t chunk = first + index;
    return chunk < hole_begin ? chunk : chunk + hole_end - hole_begin;
  }
};

// range: the key blocks that some row sees.
Chunks chunks_of(const Problem& problem, int64_t b, Blocks range, const fovea_decode_info& info);

// The key blocks of a chunk that some row sees and, unless that leaves none, of whose keys a ring
// has not given up all.
Blocks blocks_of(const Problem& problem, int64_t b, Blocks range, int32_t chunk,
                 const fovea_decode_info& info);

// The most chunks that so many keys have. Of a ring by its slots: however long its sequences are,
// the chunks between the sinks and the oldest key that is still there are left out.
int64_t most_chunks(const Problem& problem, int64_t keys, const fovea_decode_info& info);

}  // namespace fovea::detail
#endif
