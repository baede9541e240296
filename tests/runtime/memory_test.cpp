// Workspace and allocation: exact size at any alignment, no allocation when a workspace is given.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "append_call.h"
#include "fake_library.h"
#include "ragged_call.h"

// Counts this thread's allocations. Sanitizers bring an allocator of their own, which must not be
// replaced.
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
thread_local int malloc_calls = 0;
}
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  ++malloc_calls;
  return __libc_malloc(size);
}
#else
#define FOVEA_TEST_COUNTS_MALLOC 0
#endif

namespace fovea::test {
namespace {

// An allocator that counts, and can refuse.
struct Arena {
  int allocated = 0;
  int released = 0;
  size_t size = 0;
  bool refuses = false;
  fovea_allocator hooks = {allocate, release, this};

  static void* allocate(void* context, size_t size, size_t alignment) {
    auto* arena = static_cast<Arena*>(context);
    EXPECT_EQ(alignment, 64U);
    arena->size = size;
    if (arena->refuses) return nullptr;
    ++arena->allocated;
    // Off by one on purpose: the alignment is a wish, the size a need.
    return static_cast<unsigned char*>(std::malloc(size + 1)) + 1;
  }
  static void release(void* context, void* memory) {
    ++static_cast<Arena*>(context)->released;
    std::free(static_cast<unsigned char*>(memory) - 1);
  }
};

TEST(Workspace, ExactSizeAtAnyAlignmentIsEnough) {
  for (const Variant variant : {kPlain, kFull}) {
    for (const int32_t threads : {1, 3}) {
      Attention a(variant);
      a.call.lse = fovea_tensor{};
      a.exec.threads = threads;
      const size_t size = a.workspace();
      ASSERT_GT(size, 0U);
      std::vector<unsigned char> memory(size + 64 + 64);
      for (size_t shift = 0; shift < 64; ++shift) {
        std::memset(memory.data(), 0xa5, memory.size());
        a.call.workspace = memory.data() + shift;
        a.call.workspace_size = size;
        forget_seen();
        ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
        for (const Seen& s : seen()) ASSERT_TRUE(s.scratch_ok);
        for (size_t i = 0; i < memory.size(); ++i) {
          ASSERT_TRUE((i >= shift && i < shift + size) || memory[i] == 0xa5) << shift;
        }
      }
      a.call.workspace_size = size - 1;
      EXPECT_EQ(a.run(), FOVEA_WORKSPACE_TOO_SMALL);
    }
  }
}

TEST(Workspace, SizeDependsOnShapesAndThreadsNotOnLengths) {
  Attention a;
  a.exec.threads = 3;
  const size_t size = a.workspace();
  EXPECT_EQ(size, 3U * 1024 + 63);
  a.q_len = {1, 0};
  a.call.q_len = a.q_len.data();
  EXPECT_EQ(a.workspace(), size);
  a.call.workspace = a.out.data();
  a.call.workspace_size = 1;  // the query does not mind
  EXPECT_EQ(a.workspace(), size);
}

TEST(Workspace, AbsurdScratchIsOutOfMemoryNotAWrap) {
  Attention a;
  std::vector<fovea_kernel_info> kernels(a.library.kernels,
                                         a.library.kernels + a.library.kernel_count);
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2}) {
    for (auto& kernel : kernels) kernel.scratch_bytes = bytes;
    a.library.kernels = kernels.data();
    a.exec.threads = 3;
    EXPECT_EQ(a.workspace(), 0U);
    EXPECT_EQ(a.run(), FOVEA_OUT_OF_MEMORY);
  }
}

TEST(Allocator, IsUsedOnceACallAndGetsItsMemoryBack) {
  Attention a;
  Arena arena;
  a.exec.allocator = &arena.hooks;
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(arena.allocated, 1);
  EXPECT_EQ(arena.released, 1);
  EXPECT_EQ(arena.size, a.workspace());
  fail_at(0, 0, 0, 3);
  EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
  EXPECT_EQ(arena.released, 2);
  forget_seen();
}

TEST(Allocator, RefusalIsOutOfMemoryAndNothingWritten) {
  Attention a;
  Arena arena;
  arena.refuses = true;
  a.exec.allocator = &arena.hooks;
  forget_seen();
  EXPECT_EQ(a.run(), FOVEA_OUT_OF_MEMORY);
  const std::string message = fovea_last_message();
  EXPECT_EQ(message, "exec.allocator->allocate returned NULL for " + std::to_string(a.workspace()) +
                         " bytes");
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(arena.released, 0);
}

TEST(Allocator, IsLeftAloneWhenAWorkspaceIsGiven) {
  Attention a;
  Arena arena;
  std::vector<unsigned char> memory(a.workspace());
  a.call.workspace = memory.data();
  a.call.workspace_size = memory.size();
  a.exec.allocator = &arena.hooks;
  ASSERT_EQ(a.run(), FOVEA_OK);
  EXPECT_EQ(arena.allocated, 0);
}

int quiet_kernel(void**) { return 0; }

TEST(Malloc, IsNotCalledWhenAWorkspaceIsGiven) {
#if FOVEA_TEST_COUNTS_MALLOC
  Attention a(kFull);
  std::vector<fovea_kernel_info> kernels(a.library.kernels,
                                         a.library.kernels + a.library.kernel_count);
  for (auto& kernel : kernels) kernel.run = quiet_kernel;
  a.library.kernels = kernels.data();
  a.exec.threads = 1;
  std::vector<unsigned char> memory(a.workspace());
  char text[2048];
  const auto calls = [&](auto&& work) {
    const int before = malloc_calls;
    work();
    return malloc_calls - before;
  };
  EXPECT_EQ(calls([&] { EXPECT_EQ(a.run(), FOVEA_OK); }), 1);
  a.call.workspace = memory.data();
  a.call.workspace_size = memory.size();
  EXPECT_EQ(calls([&] { EXPECT_EQ(a.run(), FOVEA_OK); }), 0);
  EXPECT_EQ(calls([&] { a.workspace(); }), 0);
  EXPECT_EQ(calls([&] { fovea_variant_explain(&a.library, kFull, &a.call, text, sizeof(text)); }),
            0);
  a.call.q.extent[2] = -1;
  EXPECT_EQ(calls([&] { a.run(); }), 0);  // errors allocate nothing either
#else
  GTEST_SKIP() << "malloc cannot be counted in this build";
  (void)quiet_kernel;
#endif
}

TEST(Malloc, IsNotCalledForRaggedBatchesOfACacheWhenAWorkspaceIsGiven) {
#if FOVEA_TEST_COUNTS_MALLOC
  RaggedCall a({{1, 30}, {40, 40}, {3, 0}}, FOVEA_CACHE_SAME);
  const fovea_decode_part part = {4, quiet_kernel};
  fovea_decode_info decode = *a.kernels[3].decode;
  decode.part_count = 1;
  decode.parts = &part;
  decode.finish = quiet_kernel;
  a.kernels[2].run = quiet_kernel;
  a.kernels[3].decode = &decode;
  a.exec.threads = 1;
  std::vector<unsigned char> memory(a.workspace());
  a.call.workspace = memory.data();
  a.call.workspace_size = memory.size();
  const int before = malloc_calls;
  const fovea_status status = a.run();
  EXPECT_EQ(malloc_calls, before);
  EXPECT_EQ(status, FOVEA_OK) << fovea_last_message();
#else
  GTEST_SKIP() << "malloc cannot be counted in this build";
#endif
}

TEST(Malloc, IsCalledOnceByAnAppendThatNeedsScratch) {
#if FOVEA_TEST_COUNTS_MALLOC
  for (const fovea_cache_kind kind : {FOVEA_CACHE_SAME, FOVEA_CACHE_I8}) {
    AppendCall a(kind);
    for (auto& kernel : a.kernels) kernel.run = quiet_kernel;
    a.exec.threads = 1;
    const int before = malloc_calls;
    const fovea_status status = a.run();
    EXPECT_EQ(malloc_calls, before + (kind == FOVEA_CACHE_SAME ? 0 : 1));
    EXPECT_EQ(status, FOVEA_OK) << fovea_last_message();
  }
#else
  GTEST_SKIP() << "malloc cannot be counted in this build";
#endif
}

TEST(Malloc, IsNeverCalledByAMerge) {
#if FOVEA_TEST_COUNTS_MALLOC
  std::vector<float> out(2 * 64 * 600, 1), lse(2 * 64, 0);
  const fovea_partial parts[] = {
      {tensor(out.data(), {1, 1, 64, 600}), lse_tensor(lse.data(), 1, 1, 64)},
      {tensor(out.data() + 64 * 600, {1, 1, 64, 600}), lse_tensor(lse.data() + 64, 1, 1, 64)}};
  Exec exec;
  exec.threads = 1;
  const int before = malloc_calls;
  EXPECT_TRUE(merge(parts, parts[0], &exec).ok());
  EXPECT_FALSE(merge(parts, -1, parts[0], &exec).ok());
  EXPECT_EQ(malloc_calls, before);
#else
  GTEST_SKIP() << "malloc cannot be counted in this build";
#endif
}

}  // namespace
}  // namespace fovea::test
