// shared_layout.h: distances in shared memory at which threads meet in no bank.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_SHARED_LAYOUT_H
#define FOVEA_GENERATORS_SCHEDULES_SHARED_LAYOUT_H

#include <cstddef>
#include <functional>

namespace fovea {

struct PrefillGpuSchedule;

// Words of 4 bytes, neighbours in neighbouring banks; what a read of global memory fetches at
// least.
inline constexpr int banks = 32, sector_bytes = 32;
// Numbers of the widest instruction: what follows an array of so many begins where tiles of it can
// be read at once.
inline constexpr int whole_vector = 4;

// How many different words threads that are served together want of one bank at worst, where each
// reads or writes `width` words at once, from first_word(thread) on.
size_t bank_ways(int width, const std::function<int(int)>& first_word);

// Numbers after the keys of a feature: neighbouring threads write neighbouring features, which an
// odd distance puts into different banks; where tiles of keys are read at once they stay whole.
int key_padding(const PrefillGpuSchedule& s);
// Rows of the state with what follows them: neighbouring threads have neighbouring groups of
// features and the same rows.
int state_rows(const PrefillGpuSchedule& s);
// The same of scores and weights, which are dealt out in tiles, those of the same keys first.
int score_rows(const PrefillGpuSchedule& s);
// The same of queries, which are stored across their features. Where fewer rows fill no banks, the
// memory would cost more than threads that meet in pairs, once for each block of rows.
int query_rows(const PrefillGpuSchedule& s);

}  // namespace fovea

#endif
