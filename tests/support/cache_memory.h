// cache_memory.h: a KV cache in guarded memory, filled by a variant's append function, and read
// back by plain arithmetic. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_CACHE_MEMORY_H
#define FOVEA_TESTS_SUPPORT_CACHE_MEMORY_H

#include <memory>
#include <string>
#include <vector>

#include "problem.h"

namespace fovea::test {

struct CacheSetup {
  int64_t page_size = 0;  // 0: no pages
  int64_t slots = 0;      // of a sequence; with pages a multiple of page_size
  int32_t ring_sinks = 0, ring_window = 0;
  int64_t groups = 1;  // with a scale of their own, in every row
  bool has_scales = true;
  bool packed_scales = false;  // nothing lies between the scales of neighbouring slots
  bool rows_outside = false;   // slots are outermost in a page, heads inside
  std::string text() const;
};

// The type of k and v that a kernel reads.
fovea_dtype cache_dtype(const TestKernel& kernel);
bool is_quantised(const TestKernel& kernel);
// The number that a byte of a quantised cache stands for, before its scale; of FOVEA_I4 four bits.
float plain_number(fovea_dtype dtype, unsigned bits);

class CacheMemory {
 public:
  // All bytes are 0xff: NaN as elements of float types and as scales. Pages are in random order,
  // and there is one more than needed. Block tables hold numbers of no page past `used_slots` of
  // each sequence, and end at an unreadable page.
  CacheMemory(const TestKernel& kernel, int64_t batch, int64_t kv_heads, const CacheSetup& setup,
              const std::vector<int64_t>& used_slots, Random& random);
  CacheMemory(const CacheMemory&) = delete;
  CacheMemory& operator=(const CacheMemory&) = delete;

  // The tokens `from[b]` to `to[b] - 1` of the problem's k and v.
  fovea_status append(const Problem& problem, const std::vector<int32_t>& from,
                      const std::vector<int32_t>& to);
  // An append with all fields but the new tokens.
  fovea_append empty_append() const;
  // k, v and the cache of a call; everything else stays.
  void attach(fovea_call& call) const;

  // Entries as they are stored, before any transform of the kernel's; NaN where nothing is.
  double key(int64_t b, int64_t h, int64_t key, int64_t d) const;
  double value(int64_t b, int64_t h, int64_t key, int64_t d) const;
  double key_scale(int64_t b, int64_t h, int64_t key, int64_t d) const;
  double value_scale(int64_t b, int64_t h, int64_t key, int64_t d) const;
  // Of rows with a single one.
  void set_key_scale(int64_t b, int64_t h, int64_t key, double scale);
  void set_value_scale(int64_t b, int64_t h, int64_t key, double scale);
  // Only in caches that are not quantised.
  void set_key(int64_t b, int64_t h, int64_t key, int64_t d, double number);
  void set_value(int64_t b, int64_t h, int64_t key, int64_t d, double number);

  // Nothing but slots and their scales has been written.
  bool untouched_outside() const;
  // As it is in memory, for tests that look at bytes.
  const std::vector<std::shared_ptr<GuardedMemory>>& pools() const { return memory_; }
  fovea_cache cache = {};
  int32_t* table(int64_t b) const;  // NULL without pages

 private:
  // One of k, v and their scales.
  struct Pool {
    fovea_tensor view = {};
  };
  Pool make_pool_(fovea_dtype dtype, int64_t features, int64_t row);
  unsigned char* row_(const Pool& pool, int64_t b, int64_t h, int64_t key) const;
  double number_(const Pool& pool, const Pool& scales, int64_t b, int64_t h, int64_t key,
                 int64_t d) const;
  double scale_(const Pool& scales, int64_t size, int64_t b, int64_t h, int64_t key,
                int64_t d) const;

  TestKernel kernel_;
  CacheSetup setup_;
  int64_t batch_, kv_heads_, pages_ = 0;
  Pool k_, v_, k_scale_, v_scale_;
  std::vector<std::shared_ptr<GuardedMemory>> memory_;
  std::shared_ptr<GuardedMemory> table_;
};

}  // namespace fovea::test

#endif
