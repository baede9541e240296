// prefill_tail.cpp: which second body a schedule gets.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/prefill_tail.h"

#include <algorithm>

namespace fovea {

Halide::Expr TailBody::serves(const Halide::Expr& rows) const {
  const int narrow = schedule.tile_rows();
  if (!by_tiles) return rows <= narrow;
  const auto padded = [&](int tile) { return (rows + (tile - 1)) / tile * tile; };
  return padded(narrow) < padded(wide_tile) && rows <= schedule.block_rows();
}

std::optional<TailBody> tail_body(const PrefillCpuSchedule& wide, int d_v) {
  if (wide.tail_bodies == 0) return std::nullopt;
  const int most_features = wide.row_vectors * wide.feature_group >= 16 ? 16 : 8;
  TailBody body{wide, wide.row_vectors > 1, wide.tile_rows()};
  PrefillCpuSchedule& s = body.schedule;
  --s.tail_bodies;
  if (body.by_tiles) {
    s.row_tiles = std::min(s.row_tiles * s.row_vectors, PrefillCpuSchedule::most_row_tiles);
    s.row_vectors = 1;
  } else {
    s.row_tiles = 1;
    s.lanes /= 2;
  }
  // Short calls are mostly tiles of keys that are rounded up: no more keys than keep the
  // multipliers busy.
  for (s.key_tile = 8; s.key_block % s.key_tile != 0;) s.key_tile /= 2;
  for (s.feature_group = most_features; d_v % s.feature_group != 0;) s.feature_group /= 2;
  return body;
}

}  // namespace fovea
