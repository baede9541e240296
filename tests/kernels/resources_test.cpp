// resources_test.cpp: what a call takes from its surroundings: memory, and nothing else.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/support/comparison.h"
#include "tests/support/reserved_memory.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// Counts allocations of the whole process while armed. Sanitizers bring an allocator of their own,
// which must not be replaced.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define FOVEA_TEST_SANITIZED 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(FOVEA_TEST_SANITIZED)
#define FOVEA_TEST_COUNTS_MALLOC 1
namespace {
std::atomic<bool> counts_malloc{false};
std::atomic<int> malloc_calls{0};
}  // namespace
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  if (counts_malloc.load(std::memory_order_relaxed)) ++malloc_calls;
  return __libc_malloc(size);
}
#endif

namespace fovea::test {
namespace {

class Resources : public KernelTest {};
FOVEA_FOR_KERNELS(Resources, all_kernels());

#ifdef FOVEA_TEST_COUNTS_MALLOC
TEST_P(Resources, NoAllocationWithAWorkspace) {
  for (const int32_t threads : {1, 2}) {
    count_case();
    Random random(GetParam().info().name, 700);
    CallSetup setup = plain_setup(2 * GetParam().info().block_rows + 1, 130, 2, 1);
    setup.wants_lse = false;
    setup.threads = threads;
    setup.workspace = Workspace::Exact;
    Problem problem(GetParam(), setup, random);
    ASSERT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();  // starts the pool
    malloc_calls = 0;
    counts_malloc = true;
    const fovea_status status = problem.run_again();
    counts_malloc = false;
    EXPECT_EQ(status, FOVEA_OK);
    EXPECT_EQ(malloc_calls.load(), 0) << threads << " threads";
  }
}
#endif

// Of a call of one head, one thread and these lengths, of which nothing is run.
size_t workspace_of(const TestKernel& kernel, int64_t q_rows, int64_t kv_rows) {
  count_case();
  CallSetup setup = plain_setup(1, 1);
  setup.wants_lse = false;
  Problem problem(kernel, setup);
  problem.call.q.extent[2] = problem.call.out.extent[2] = q_rows;
  problem.call.k.extent[2] = problem.call.v.extent[2] = kv_rows;
  for (fovea_tensor* t : {&problem.call.q, &problem.call.k, &problem.call.v}) t->stride[2] = 0;
  // The output needs addresses of its own, no memory.
  const GuardedMemory addresses(
      0, Edge::End, 0,
      static_cast<size_t>(q_rows * kernel.info().d_v * element_size(problem.dtype())));
  problem.call.out.data = addresses.data();
  const size_t size = fovea_variant_workspace(kernel.library, kernel.info().variant, &problem.call);
  EXPECT_STREQ(fovea_last_message(), "");
  return size;
}

class PrefillResources : public KernelTest {};
FOVEA_FOR_KERNELS(PrefillResources,
                  kernels_where([](const TestKernel& k) { return !k.decodes(); }));

// Scratch belongs to a block of rows: neither the number of keys nor that of queries moves it.
TEST_P(PrefillResources, WorkspaceDoesNotGrowWithTheLengths) {
  const size_t one = workspace_of(GetParam(), 1, 1);
  EXPECT_EQ(workspace_of(GetParam(), 1, 1 << 29), one);
  EXPECT_EQ(workspace_of(GetParam(), 100000, 100000), one);
  EXPECT_LT(one, size_t{4} << 20);
}

class DecodeResources : public KernelTest {};
// Calls that copy to a device take its memory themselves.
FOVEA_FOR_KERNELS(DecodeResources,
                  kernels_where([](const TestKernel& k) { return k.decodes() && !k.on_device(); }));

// A record for each row of the tiles and each chunk, of d_v numbers and two vectors a slice at
// most.
TEST_P(DecodeResources, WorkspaceGrowsByOneRecordForEachRowAndChunk) {
  const fovea_decode_info& info = *GetParam().info().decode;
  const int64_t tile = GetParam().info().block_rows, keys = info.key_block * info.chunk_blocks;
  const auto record =
      static_cast<size_t>(int64_t{4} * info.record_lanes * info.record_slots * info.record_groups);
  const size_t one = workspace_of(GetParam(), 1, 1), line = 64;
  EXPECT_LT(one, size_t{4} << 20);
  EXPECT_EQ(workspace_of(GetParam(), 1, keys), one);
  EXPECT_EQ(workspace_of(GetParam(), tile, keys), one);
  for (const int64_t tiles : {1, 5}) {
    for (const int64_t chunks : {1, 2, 1000}) {
      const size_t more = workspace_of(GetParam(), tile * tiles, keys * chunks) - one;
      const size_t records = record * static_cast<size_t>(tile * (tiles * chunks - 1));
      EXPECT_LE(more, records + line);
      EXPECT_LE(records, more + line);
    }
  }
}

#if defined(__x86_64__)
// Rounding and flush-to-zero are the caller's, before, during and after.
// https://github.com/llvm/llvm-project/issues/57589: fast arithmetic, linked in, flushed the
// subnormal numbers of the whole process
TEST_P(Resources, Row203FloatingPointControlIsUntouched) {
  constexpr unsigned control = ~0x3fu;  // all but the sticky exception flags
  Random random(GetParam().info().name, 701);
  CallSetup setup = plain_setup(3, 70);
  setup.wants_lse = false;
  Problem problem(GetParam(), setup, random);
  const unsigned saved = _mm_getcsr();
  for (const unsigned setting : {0x1f80u, 0x9fc0u, 0x7f80u}) {  // default, FTZ and DAZ, to zero
    count_case();
    _mm_setcsr(setting);
    const fovea_status status = problem.run();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(status, FOVEA_OK);
    EXPECT_EQ(after & control, setting & control);
  }
}
#endif

// Reports of 32-bit products of index and stride: rows 2^31 - 1 elements apart, in memory that is
// reserved and hardly touched.
class FarRows : public KernelTest {};
FOVEA_FOR_KERNELS(FarRows, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk == 8 && k.variant_name() == "full";
                  }));

TEST_P(FarRows, AreReadAtTheirTrueAddress) {
  constexpr int64_t stride = std::numeric_limits<int32_t>::max();
  const int64_t size = element_size(GetParam().dtype());
  const auto bytes = static_cast<size_t>((2 * stride + 64) * size);
  const ReservedMemory reserved(bytes);
  unsigned char* memory = reserved.data();
  if (memory == nullptr) GTEST_SKIP() << "this system does not reserve " << bytes << " bytes";
  for (const int64_t step : {stride, -stride}) {
    count_case();
    Random random("far rows", 0);
    Problem problem(GetParam(), plain_setup(3, 3), random);
    const Results expected = problem.checked_run();
    fovea_tensor far = problem.call.k;
    far.data = memory + (step < 0 ? 2 * stride * size : 0);
    far.stride[2] = step;
    for (int64_t row = 0; row < 3; ++row) {
      std::memcpy(static_cast<unsigned char*>(far.data) + row * step * size,
                  problem.k.at(0, 0, row).address(), static_cast<size_t>(8 * size));
    }
    problem.call.k = far;
    EXPECT_EQ(bit_difference(problem.checked_run(), expected), "") << step;
  }
}

}  // namespace
}  // namespace fovea::test
