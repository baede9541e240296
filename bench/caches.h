// caches.h: the last-level cache: its size, flushing it, and how fast memory is read past it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_CACHES_H
#define FOVEA_BENCH_CACHES_H

#include <cstddef>

namespace fovea::bench {

// Bytes; larger than every cache of this machine.
size_t flush_size();

// Reads flush_size() bytes of no use.
void flush_caches();

// GB/s of reading memory one line after the other, on `threads` threads at once, each its own part
// of a buffer of twice flush_size().
double stream_gbps(int threads);
// The same of so many bytes, again and again: from whatever cache holds them.
double stream_gbps(int threads, size_t bytes);

}  // namespace fovea::bench

#endif
