// cascade_test.cpp: a prefix that sequences share, read once for all of them.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test {
namespace {

class Cascade : public bank::Bank {};
FOVEA_FOR_KERNELS(Cascade, calling_kernels([](const TestKernel& k) {
                    return k.info().cache == FOVEA_CACHE_SAME && k.variant_name() == "causal" &&
                           k.dtype() == FOVEA_F32;
                  }));

TEST_P(Cascade, IsOneCallOverAllKeys) {
  constexpr int64_t prefix = 208, page = 16, sequences = 3, heads = 4;
  const std::vector<int32_t> lengths = {prefix + 5, prefix + 40, prefix + 17};
  CallSetup setup = setup_of(1, 256, heads, 2);
  setup.batch = sequences;
  setup.kv_len = lengths;
  CacheSetup cache;
  cache.page_size = page;
  cache.slots = 256;
  Random random("cascade", 0);
  Problem problem(GetParam(), setup, random);
  CacheMemory memory(GetParam(), sequences, 2, cache, used_slots(setup, cache), random);
  // All sequences have the pages of the first one for their prefix.
  for (int64_t b = 1; b < sequences; ++b)
    std::copy_n(memory.table(0), prefix / page, memory.table(b));
  ASSERT_EQ(memory.append(problem, {prefix, prefix, prefix}, lengths), FOVEA_OK)
      << fovea_last_message();
  ASSERT_EQ(memory.append(problem, {0, 0, 0}, {prefix, 0, 0}), FOVEA_OK) << fovea_last_message();
  memory.attach(problem.call);
  const Results wanted = problem.checked_run();

  const int64_t d_v = GetParam().info().d_v;
  const std::array<int64_t, 4> shape = {1, heads, sequences, d_v};
  const StridedTensor shared_out(FOVEA_F32, shape, {}),
      shared_lse(FOVEA_F32, {1, heads, sequences, 1}, {});
  // The queries of all sequences are rows of one, behind the prefix.
  fovea_call shared = problem.call;
  const auto as_rows = [](fovea_tensor t) {
    std::swap(t.extent[0], t.extent[2]);
    std::swap(t.stride[0], t.stride[2]);
    return t;
  };
  const int32_t prefix_keys = prefix, behind = prefix;
  shared.q = as_rows(problem.call.q);
  shared.out = shared_out.view();
  shared.lse = shared_lse.view();
  shared.kv_len = &prefix_keys;
  shared.q_offset = &behind;
  ASSERT_EQ(fovea_variant_run(GetParam().library, GetParam().info().variant, &shared,
                              problem.params.data()),
            FOVEA_OK)
      << fovea_last_message();

  // Each sequence's own keys: its block table without the prefix, positions counted from there.
  fovea_cache own = memory.cache;
  own.block_table += prefix / page;
  own.block_table_columns -= prefix / page;
  std::vector<int32_t> own_keys;
  for (const int32_t length : lengths) own_keys.push_back(length - static_cast<int32_t>(prefix));
  problem.call.cache = &own;
  problem.call.kv_len = own_keys.data();
  ASSERT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();

  const fovea_partial parts[] = {{as_rows(shared.out), as_rows(shared.lse)},
                                 {problem.call.out, problem.call.lse}};
  ASSERT_EQ(fovea_merge(parts, 2, &parts[1], nullptr), FOVEA_OK) << fovea_last_message();
  const Results got = problem.results();
  for (size_t i = 0; i < got.out.size(); ++i) ASSERT_NEAR(got.out[i], wanted.out[i], 2e-6) << i;
  for (size_t i = 0; i < got.lse.size(); ++i) ASSERT_NEAR(got.lse[i], wanted.lse[i], 4e-6) << i;
}

}  // namespace
}  // namespace fovea::test
