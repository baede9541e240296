// Reported faults of other attention libraries that a runtime can avoid before any kernel runs, as
// their smallest inputs. RowN is the number of the report in the collection they come from, the
// link leads to it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "append_call.h"
#include "fake_library.h"
#include "ragged_call.h"

namespace fovea::test {
namespace {

// Refused, with the field named, no kernel run and no output written.
void expect_refused(Attention& a, fovea_status status, const std::string& says) {
  const std::vector<float> out = a.out;
  const std::vector<float> lse = a.lse;
  forget_seen();
  EXPECT_EQ(a.run(), status);
  EXPECT_EQ(std::string(fovea_last_message()).rfind(says, 0), 0U) << fovea_last_message();
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(a.out, out);
  EXPECT_EQ(a.lse, lse);
}

std::vector<Seen> expect_accepted(Attention& a) {
  forget_seen();
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  return seen();
}

// https://github.com/pytorch/pytorch/pull/187506: [.., D, S] in memory, handed over transposed
TEST(Bank, Row67FeaturesApart) {
  Attention a;
  for (fovea_tensor* t : {&a.call.k, &a.call.v}) t->stride[2] = 1, t->stride[3] = 12;
  expect_refused(a, FOVEA_INVALID_ARGUMENT, "k.stride[3] = 12: allowed: 1");
}

// https://github.com/tile-ai/tilelang/issues/2526: aligned to an element and no further
TEST(Bank, Row73AnyElementMayBeTheFirst) {
  for (size_t shift = 0; shift < 16; ++shift) {
    Attention a;
    const std::pair<fovea_tensor*, std::vector<float>*> tensors[] = {
        {&a.call.q, &a.q}, {&a.call.k, &a.k}, {&a.call.v, &a.v}, {&a.call.out, &a.out}};
    for (const auto& [view, memory] : tensors) {
      memory->resize(memory->size() + shift);
      view->data = memory->data() + shift;
    }
    for (const Seen& s : expect_accepted(a))
      EXPECT_EQ(s.q, a.q.data() + shift + ((s.batch * 4 + s.head) * 20 + s.q_block * 8) * 4);
  }
}

// https://github.com/facebookresearch/xformers/issues/813: rows of a bias need no padding
TEST(Bank, Row76OddRowsOfATable) {
  Attention a(kFull, 1, 4, 2, 43, 43);
  for (const Seen& s : expect_accepted(a))
    EXPECT_EQ(s.bias, (std::vector<int32_t>{2, 43, 43, 43, 1}));
}

// https://github.com/pytorch/pytorch/issues/141219: no row, or no key, to divide by
TEST(Bank, Row77NoRowsOrNoKeys) {
  Attention rows(kFull, 7, 7, 7, 0, 0);
  EXPECT_TRUE(expect_accepted(rows).empty());
  Attention keys(kFull, 1, 2, 2, 3, 0);
  EXPECT_EQ(expect_accepted(keys).size(), 2U);
  Attention heads(kFull, 7, 7, 7, 0, 7);
  heads.call.q.extent[1] = heads.call.out.extent[1] = heads.call.lse.extent[1] = 9;
  expect_refused(heads, FOVEA_INVALID_ARGUMENT, "q.extent[1] = 9: query heads must be a multiple");
}

// https://github.com/pytorch/pytorch/pull/174951: several extents of zero at once
TEST(Bank, Row79SeveralZeroExtents) {
  for (int which = 0; which < 16; ++which) {
    const auto n = [&](int bit, int64_t otherwise) {
      return (which >> bit & 1) != 0 ? 0 : otherwise;
    };
    const int64_t kv_heads = n(1, 2);
    Attention a(kEvery, n(0, 2), 2 * kv_heads, kv_heads, n(2, 2), n(3, 3));
    const auto items = static_cast<size_t>(n(0, 2) * 2 * kv_heads * (n(2, 2) > 0 ? 1 : 0));
    EXPECT_EQ(expect_accepted(a).size(), items) << which;
  }
}

// https://github.com/Dao-AILab/flash-attention/issues/1537: one row each, and sequences of none
TEST(Bank, Row82OneRowOrNone) {
  Attention a(kFull, 3, 9, 3, 1, 5);
  a.q_len = {1, 0, 1}, a.kv_len = {3, 0, 5};
  a.call.q_len = a.q_len.data(), a.call.kv_len = a.kv_len.data();
  const auto items = expect_accepted(a);
  EXPECT_EQ(items.size(), 18U);
  for (const Seen& s : items) {
    EXPECT_EQ(s.kv_head, s.head / 3);
    EXPECT_EQ(s.k_rows, s.batch == 0 ? 3 : 5);
  }
}

// https://github.com/pytorch/pytorch/issues/81077: an empty sequence between others
TEST(Bank, Row83EmptySequenceBetweenOthers) {
  Attention a(kFull, 3, 2, 1, 3, 3);
  a.q_len = a.kv_len = {3, 0, 2};
  a.call.q_len = a.q_len.data(), a.call.kv_len = a.kv_len.data();
  for (const Seen& s : expect_accepted(a)) EXPECT_NE(s.batch, 1);
  for (size_t i = 0; i < a.lse.size(); ++i)
    EXPECT_EQ(a.lse[i] != -7, i < 6 || (i >= 12 && i % 3 < 2)) << i;
}

// https://github.com/Dao-AILab/flash-attention/issues/2611: rows so far apart that the offset does
// not fit 32 bits
TEST(Bank, Row104RowsFarApart) {
  Attention a(kPlain, 1, 1, 1, 20, 2);
  a.call.k.stride[2] = a.call.v.stride[2] = INT32_MAX;
  for (const Seen& s : expect_accepted(a)) EXPECT_EQ(s.k_stride, INT32_MAX);
  a.call.k.stride[2] = INT64_C(1) << 31;
  expect_refused(a, FOVEA_UNSUPPORTED, "k.stride[2] = 2147483648: supported: row strides of");
}

// The same of the first row of a block: 2 blocks of 8 rows lie before it.
TEST(Bank, Row104BlocksFarApart) {
  Attention a(kPlain, 1, 1, 1, 20, 2);
  a.call.q.stride[2] = INT64_C(1) << 30;
  for (const Seen& s : expect_accepted(a)) {
    const auto distance = static_cast<const char*>(s.q) - reinterpret_cast<const char*>(a.q.data());
    EXPECT_EQ(distance, 4 * s.q_block * kBlockRows * (INT64_C(1) << 30));
  }
}

// https://github.com/vllm-project/vllm/issues/50427: page 65536 of 2^15 elements is 2^31 elements
// away
TEST(Bank, Row109PageBeyond32Bits) {
  constexpr int64_t kPage = INT64_C(1) << 15;
  CachedCall a(FOVEA_CACHE_SAME);
  a.block_table = {65536, 0, 1, 65535, 65536, 2};
  for (fovea_tensor* t : {&a.call.k, &a.call.v}) {
    t->extent[0] = 65537;
    t->stride[0] = kPage;
  }
  // Nothing is read: there is no such pool, nor may anything else lie where it would.
  a.call.k.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
  a.call.v.data = reinterpret_cast<void*>(uintptr_t{1} << 41);
  forget_cached();
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  for (const CachedSeen& s : cached_seen()) {
    EXPECT_EQ(s.pages[0], s.batch == 0 ? 65536 : 65535);
    EXPECT_EQ(s.k.shape[6], 65537);
    EXPECT_EQ(s.k.shape[7], kPage);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s.k.host),
              (uintptr_t{1} << 40) + static_cast<uintptr_t>(s.kv_head) * 8 * 32 * 4);
  }
  AppendCall append;
  append.block_table = {-1, 65536, 1, 2, -1, -1};
  append.append.k.extent[0] = append.append.v.extent[0] = 65537;
  append.append.k.stride[0] = append.append.v.stride[0] = kPage;
  append.append.k.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
  append.append.v.data = reinterpret_cast<void*>(uintptr_t{1} << 41);
  static std::vector<uintptr_t> first_keys;
  first_keys.clear();
  append.kernels[0].run = [](void** argv) {
    const auto* k = static_cast<const detail::HalideBuffer*>(argv[7]);
    first_keys.push_back(reinterpret_cast<uintptr_t>(k->host));
    return 0;
  };
  append.exec.threads = 1;
  append.new_len = {1, 0};  // key 10: slot 2 of page 65536
  ASSERT_EQ(append.run(), FOVEA_OK) << fovea_last_message();
  const uintptr_t slot = (uintptr_t{1} << 40) + (uintptr_t{65536} * kPage + 2 * 32) * 4;
  EXPECT_EQ(first_keys, (std::vector{slot, slot + 8 * 32 * 4}));
}

// https://github.com/halide/Halide/issues/4460: scratch beyond 2^31 bytes
TEST(Bank, Row112ScratchBeyond32Bits) {
  Attention a;
  std::vector<fovea_kernel_info> kernels(a.library.kernels,
                                         a.library.kernels + a.library.kernel_count);
  for (auto& kernel : kernels) kernel.scratch_bytes = size_t{5} << 29;  // 2.5 GiB
  a.library.kernels = kernels.data();
  a.exec.threads = 3;
  EXPECT_EQ(a.workspace(), 3 * (size_t{5} << 29) + 63);
  const fovea_allocator refusing = {[](void*, size_t, size_t) -> void* { return nullptr; },
                                    [](void*, void*) {}, nullptr};
  a.exec.allocator = &refusing;
  expect_refused(a, FOVEA_OUT_OF_MEMORY, "exec.allocator->allocate returned NULL for 8053063743");
}

// https://github.com/pytorch/pytorch/issues/48900: an output that is an input
TEST(Bank, Row149OutputOverInput) {
  Attention in_place;
  in_place.call.out = in_place.call.q;
  for (const Seen& s : expect_accepted(in_place)) EXPECT_EQ(s.out, s.q);
  Attention shifted(kPlain, 1, 1, 1, 12, 12);
  shifted.q.resize(shifted.q.size() + shifted.k.size());
  shifted.call.q.data = shifted.call.out.data = shifted.q.data();
  shifted.call.k.data = shifted.q.data() + 11 * 4;  // by one row
  expect_refused(shifted, FOVEA_INVALID_ARGUMENT, "out.data = ");
  EXPECT_NE(std::string(fovea_last_message()).find("overlaps k"), std::string::npos);
}

// https://github.com/flashinfer-ai/flashinfer/pull/4996: every pair of an output and anything else.
// One shared element suffices, and side by side is allowed.
TEST(Bank, Row151EveryPair) {
  fovea_tensor fovea_call::* const tensors[] = {
      &fovea_call::q,   &fovea_call::k,       &fovea_call::v,       &fovea_call::out,
      &fovea_call::lse, &fovea_call::row_max, &fovea_call::row_sum, &fovea_call::probabilities};
  constexpr int kInputs = 3;
  const auto elements = [](const fovea_tensor& t) {
    return static_cast<size_t>(t.extent[0] * t.extent[1] * t.extent[2] * t.extent[3]);
  };
  for (int i = 0; i < 8; ++i) {
    for (int j = kInputs; j < 8; ++j) {
      if (i == j) continue;
      for (const size_t shared : {0U, 1U}) {
        Attention a(kEvery);
        fovea_tensor& first = a.call.*tensors[i];
        fovea_tensor& second = a.call.*tensors[j];
        std::vector<float> memory(elements(first) + elements(second));
        first.data = memory.data();
        second.data = memory.data() + elements(first) - shared;
        EXPECT_EQ(a.run(), shared != 0 ? FOVEA_INVALID_ARGUMENT : FOVEA_OK) << i << ' ' << j;
      }
    }
  }
  fovea_table EveryParams::* const tables[] = {&EveryParams::position, &EveryParams::row,
                                               &EveryParams::feature, &EveryParams::value_feature,
                                               &EveryParams::allowed};
  for (fovea_table EveryParams::* table : tables) {
    for (int j = kInputs; j < 8; ++j) {
      for (const size_t shared : {0U, 1U}) {
        Attention a(kEvery);
        fovea_tensor& output = a.call.*tensors[j];
        std::vector<float> memory(elements(output) + a.allowed.size());
        output.data = memory.data();
        (a.every.*table).data = memory.data() + elements(output) - shared;
        EXPECT_EQ(a.run(), shared != 0 ? FOVEA_INVALID_ARGUMENT : FOVEA_OK) << j;
      }
    }
  }
}

// Numbers against the end of readable memory: one entry more would be a fault.
class AtTheEnd {
 public:
  AtTheEnd() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* pages =
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return;
    memory_ = static_cast<unsigned char*>(pages);
    mprotect(memory_ + page_, page_, PROT_NONE);
  }
  ~AtTheEnd() {
    if (memory_ != nullptr) munmap(memory_, 2 * page_);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  bool ok() const { return memory_ != nullptr; }
  const int32_t* put(const std::vector<int32_t>& values) {
    unsigned char* at = memory_ + page_ - values.size() * sizeof(int32_t);
    std::memcpy(at, values.data(), values.size() * sizeof(int32_t));
    return reinterpret_cast<const int32_t*>(at);
  }

 private:
  size_t page_;
  unsigned char* memory_ = nullptr;
};

// https://github.com/vllm-project/vllm/issues/42494: entries past the used pages are stale, or not
// there at all
TEST(Bank, Row152StaleEntriesOfABlockTable) {
  AtTheEnd memory;
  ASSERT_TRUE(memory.ok());
  CachedCall a(FOVEA_CACHE_SAME);
  for (fovea_tensor* t : {&a.call.k, &a.call.v}) t->extent[2] = 4, t->stride[1] = 4 * 32;
  a.kv_len = {5, 5};
  for (const char* pass : {"prefill", "decode"}) {
    a.exec.pass = pass;
    a.block_table = {3, 1, 2147483647, 6, 0, -7};
    forget_cached();
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    for (const CachedSeen& s : cached_seen())
      EXPECT_EQ(s.pages, s.batch == 0 ? (std::vector{3, 1}) : (std::vector{6, 0}));
    // The table ends with the last used entry.
    a.cache.block_table = memory.put({3, 1, 2147483647, 6, 0});
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    a.cache.ring_window = 8;
    a.kv_len = {1000, 1000};
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    a.cache.ring_window = 0;
    a.kv_len = {5, 0};
    a.cache.block_table = memory.put({3, 1});
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    a.kv_len = {5, 5};
    a.cache.block_table = a.block_table.data();
  }
  // Appending looks at the pages that it writes, here the second of each.
  AppendCall append;
  append.kv_len = {10, 12};
  append.new_len = {6, 1};
  append.cache.block_table = memory.put({-7, 3, 2147483647, -7, 1});
  EXPECT_EQ(append.run(), FOVEA_OK) << fovea_last_message();
}

// https://github.com/InfiniTensor/InfiniLM/pull/553: scales that are not there
TEST(Bank, Row161NoScales) {
  for (const fovea_cache_kind kind :
       {FOVEA_CACHE_I8, FOVEA_CACHE_I4, FOVEA_CACHE_E4M3, FOVEA_CACHE_E5M2}) {
    CachedCall a(kind);
    AppendCall append(kind);
    a.cache.k_scale = a.cache.v_scale = append.cache.k_scale = append.cache.v_scale = {};
    const bool are_ones = kind == FOVEA_CACHE_E4M3 || kind == FOVEA_CACHE_E5M2;
    EXPECT_EQ(a.run(), are_ones ? FOVEA_OK : FOVEA_INVALID_ARGUMENT);
    EXPECT_EQ(append.run(), are_ones ? FOVEA_OK : FOVEA_INVALID_ARGUMENT);
  }
}

// https://github.com/ikawrakow/ik_llama.cpp/pull/76: groups of scales never go from head to head
TEST(Bank, Row163GroupsOfSmallHeads) {
  struct Row {
    int64_t features, groups;
    int32_t shift;  // -1: not allowed
  };
  for (const Row& row :
       {Row{96, 1, 26}, Row{96, 2, -1}, Row{96, 3, 1}, Row{96, 4, -1}, Row{96, 6, 0},
        Row{64, 1, 26}, Row{64, 2, 1}, Row{64, 4, 0}, Row{64, 8, -1}, Row{32, 1, 26}, Row{32, 2, 0},
        Row{32, 4, -1}, Row{32, 5, -1}}) {
    CachedCall a(FOVEA_CACHE_I8, Pages::kNone);
    for (auto& kernel : a.kernels) kernel.d_qk = kernel.d_v = static_cast<int32_t>(row.features);
    std::vector<float> q(static_cast<size_t>(2 * 4 * 3 * row.features)), out(q.size());
    std::vector<signed char> k(static_cast<size_t>(2 * 2 * 24 * row.features)), v(k.size());
    std::vector<uint16_t> k_scale(static_cast<size_t>(2 * 2 * 24 * row.groups)),
        v_scale(k_scale.size());
    const Shape queries = {2, 4, 3, row.features}, slots = {2, 2, 24, row.features};
    const Shape scales = {2, 2, 24, row.groups};
    a.call.q = tensor(q.data(), queries);
    a.call.out = tensor(out.data(), queries);
    a.call.k = tensor(k.data(), slots);
    a.call.v = tensor(v.data(), slots);
    a.cache.k_scale = tensor(k_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
    a.cache.v_scale = tensor(v_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
    forget_cached();
    EXPECT_EQ(a.run(), row.shift >= 0 ? FOVEA_OK : FOVEA_INVALID_ARGUMENT)
        << row.features << ' ' << row.groups;
    for (const CachedSeen& s : cached_seen()) {
      EXPECT_EQ(s.k_group_shift, row.shift);
      EXPECT_EQ(s.v_group_shift, row.shift);
      EXPECT_EQ(s.k_scale.host, k_scale.data() + (s.batch * 2 + s.kv_head) * 24 * row.groups);
    }
  }
}

// https://github.com/Dao-AILab/flash-attention/pull/2337: many sequences of one row each
TEST(Bank, Row170ManySequencesOfOneRow) {
  AtTheEnd memory;
  ASSERT_TRUE(memory.ok());
  for (const char* pass : {static_cast<const char*>(nullptr), "prefill", "decode"}) {
    RaggedCall a(std::vector<Lengths>(100, {1, 1}));
    a.exec.pass = pass;
    a.ragged.cu_q = memory.put(a.cu_q);
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    a.expect_every_row_once();
  }
}

// https://github.com/microsoft/onnxruntime/pull/27789 and 28031: lengths that become sizes
TEST(Bank, Rows178And179LengthsOutOfRange) {
  AtTheEnd memory;
  ASSERT_TRUE(memory.ok());
  for (const int32_t length : {-1, -5, INT32_MIN, 13, INT32_MAX}) {
    for (const bool first : {true, false}) {
      Attention a(kFull);
      a.call.kv_len = memory.put(first ? std::vector{length, 12} : std::vector{12, length});
      expect_refused(a, FOVEA_INVALID_ARGUMENT,
                     std::string("kv_len[") + (first ? "0" : "1") +
                         "] = " + std::to_string(length) + ": allowed: 0 to k.extent[2] = 12");
    }
  }
  for (const int32_t length : {-1, INT32_MIN, 21, INT32_MAX}) {
    Attention a(kFull);
    a.call.q_len = memory.put({length, 20});
    expect_refused(a, FOVEA_INVALID_ARGUMENT,
                   "q_len[0] = " + std::to_string(length) + ": allowed: 0 to q.extent[2] = 20");
  }
}

// https://github.com/microsoft/onnxruntime/pull/28277: a table of 8 rows, positions up to 9
TEST(Bank, Row181PositionsPastATable) {
  for (const int64_t rows : {0, 8, 9}) {
    Attention a(kFull, 1, 2, 1, 1, 10);
    a.params.bias = {a.bias.data(), {rows, 10, 0, 0}, {10, 1, 0, 0}};
    expect_refused(a, FOVEA_INVALID_ARGUMENT,
                   "params.bias.extent[0] = " + std::to_string(rows) + ": allowed: at least 10");
  }
  Attention a(kEvery, 1, 2, 1, 1, 10);
  a.every.position.extent[0] = 9;
  expect_refused(a, FOVEA_INVALID_ARGUMENT, "params.position.extent[0] = 9: allowed: at least 10");
}

// https://github.com/openvinotoolkit/openvino/pull/34726: structures that end early, pointers that
// are not there
TEST(Bank, Row182StructuresThatEndEarly) {
  for (const uint32_t size :
       {0U, 4U, 479U, static_cast<uint32_t>(sizeof(fovea_call)) + 1U, UINT32_MAX}) {
    Attention a(kFull);
    a.call.size = size;
    expect_refused(a, FOVEA_INVALID_ARGUMENT,
                   "call.size = " + std::to_string(size) + ": allowed: ");
  }
  for (auto field : {&fovea_call::q, &fovea_call::k, &fovea_call::v, &fovea_call::out}) {
    Attention a(kFull);
    (a.call.*field).data = nullptr;
    expect_refused(a, FOVEA_INVALID_ARGUMENT, "");
    EXPECT_NE(std::string(fovea_last_message()).find(".data is NULL"), std::string::npos);
  }
  Attention a(kFull);
  a.params_pointer = nullptr;
  expect_refused(a, FOVEA_INVALID_ARGUMENT, "params is NULL: variant full has 5 parameters");
}

}  // namespace
}  // namespace fovea::test
