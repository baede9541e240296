// memory_test.cpp: scratch that does not grow with the square of anything; outputs beside inputs.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

// Decode keeps a record for each row and chunk of keys, and is for few rows.
std::vector<TestKernel> prefill_kernels_for(std::initializer_list<const char*> variants) {
  std::vector<TestKernel> kernels = kernels_for(variants);
  std::erase_if(kernels, [](const TestKernel& k) { return k.decodes(); });
  return kernels;
}

FOVEA_BANK(MemoryWindow, prefill_kernels_for({"causal_window"}));
FOVEA_BANK(MemoryBlocks, prefill_kernels_for({"bank_block_map"}));
FOVEA_BANK(MemoryMasked, prefill_kernels_for({"test_dense_mask", "test_full_bias"}));
FOVEA_BANK(MemoryAlias, kernels_for({"full", "causal"}));

// What a call of these lengths asks for; nothing is run, and hardly anything allocated.
size_t workspace_of(const TestKernel& kernel, CallSetup setup) {
  const int64_t q_rows = setup.q_rows, kv_rows = setup.kv_rows;
  setup.q_rows = setup.kv_rows = 1;
  setup.wants_lse = false;
  Problem problem(kernel, setup);
  // Addresses of their own for the output; that of the inputs is shared by all rows.
  const GuardedMemory addresses(
      0, Edge::End, 0,
      static_cast<size_t>(setup.heads * q_rows * kernel.info().d_v * element_size(kernel.dtype())));
  problem.call.out.data = addresses.data();
  problem.call.out.stride[1] = q_rows * kernel.info().d_v;
  problem.call.q.extent[2] = problem.call.out.extent[2] = q_rows;
  problem.call.k.extent[2] = problem.call.v.extent[2] = kv_rows;
  for (fovea_tensor* t : {&problem.call.q, &problem.call.k, &problem.call.v}) t->stride[2] = 0;
  const size_t size = fovea_variant_workspace(kernel.library, kernel.info().variant, &problem.call);
  EXPECT_STREQ(fovea_last_message(), "");
  return size;
}

size_t address_space_in_use() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<size_t>(pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// https://github.com/pytorch/pytorch/issues/133206: all scores together would be 6.5 GB
TEST_P(MemoryWindow, Row145ScratchIsNoSquareOfTheLength) {
  constexpr int64_t length = 40320;
  EXPECT_EQ(workspace_of(GetParam(), setup_of(length, length)),
            workspace_of(GetParam(), setup_of(64, 64)));
  CallSetup setup = setup_of(length, length);
  setup.q.shared[2] = setup.k.shared[2] = setup.v.shared[2] = true;
  Problem problem(GetParam(), setup);
  problem.params.set("window", 100);
  ASSERT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();  // the pool has its memory now
  const size_t used = address_space_in_use();
  rlimit saved{};
  if (used == 0 || getrlimit(RLIMIT_AS, &saved) != 0) GTEST_SKIP() << "no limit on this system";
  rlimit limit = saved;
  limit.rlim_cur = used + (size_t{64} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const fovea_status status = problem.run();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &saved), 0);
  EXPECT_EQ(status, FOVEA_OK) << fovea_last_message();
}

// https://github.com/meta-pytorch/attention-gym/issues/32: the caller's map of blocks is all there
// is of the mask
TEST_P(MemoryBlocks, Row146AMaskOfBlocksIsNotUnfolded) {
  EXPECT_EQ(workspace_of(GetParam(), setup_of(93600, 93600)),
            workspace_of(GetParam(), setup_of(64, 64)));
}

// https://github.com/microsoft/onnxruntime/issues/29655: a mask is not copied for each head
TEST_P(MemoryMasked, Row148AMaskCostsNoScratchOfItsOwn) {
  CallSetup setup = setup_of(512, 512, 4, 4);
  setup.threads = 10;
  const size_t masked = workspace_of(GetParam(), setup);
  setup.heads = setup.kv_heads = 40;
  EXPECT_EQ(workspace_of(GetParam(), setup), masked);
  for (const TestKernel& full : kernels_of("full", 64, 64)) {
    if (full.info().target != GetParam().info().target) continue;
    if (full.dtype() != GetParam().dtype()) continue;
    // At most two more tiles of scores a worker, and the mask's own entries of one.
    const size_t tile = static_cast<size_t>(GetParam().info().block_rows) * 128 * sizeof(float);
    EXPECT_LE(masked, workspace_of(full, setup) + 10 * 3 * tile);
  }
}

// https://github.com/pytorch/pytorch/issues/48900
TEST_P(MemoryAlias, Row149AnOutputInPlaceOfTheQueries) {
  for (const int64_t rows : {1, 2 * GetParam().info().block_rows + 1}) {
    CallSetup setup = setup_of(rows, 70, 2, 1);
    Random random("row 149", 0);
    Problem apart(GetParam(), setup, random);
    const Results expected = apart.checked_run();
    Problem in_place(apart, setup);
    in_place.call.out = in_place.q.view();
    EXPECT_EQ(bit_difference(in_place.checked_run(), expected), "");
  }
}

// The same report and https://github.com/flashinfer-ai/flashinfer/pull/4996 (row 151)
TEST_P(MemoryAlias, Row149AnOutputOverKeysOrValuesIsRefused) {
  Random random("row 149", 1);
  const CallSetup setup = setup_of(3, 70);
  Problem problem(GetParam(), setup, random);
  const Results expected = Problem(problem, setup).checked_run();
  for (const auto& [name, tensor] :
       {std::pair{"overlaps k", &problem.k}, {"overlaps v", &problem.v}}) {
    problem.call.out.data = tensor->at(0, 0, 69).address();  // by one row
    expect_refused(problem, FOVEA_INVALID_ARGUMENT, name);
  }
  problem.call.out.data = problem.q.at(0, 0, 1).address();
  expect_refused(problem, FOVEA_INVALID_ARGUMENT, "overlaps q");
  problem.call.out = problem.out.view();
  EXPECT_EQ(bit_difference(problem.checked_run(), expected), "") << "an input was written to";
}

}  // namespace
}  // namespace fovea::test::bank
