// Decode calls: which pass, which chunks and tiles, whose rows, and what is reported.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "fake_library.h"
#include "halide_abi.h"

namespace fovea::test {
namespace {

using detail::HalideBuffer;

constexpr int32_t kKeyBlock = 2, kChunkBlocks = 2, kLanes = 2, kSlots = 3;

struct Part {
  int32_t batch, kv_head, first_row, block_begin, block_end, tile_rows;
  bool operator<(const Part& o) const { return key() < o.key(); }
  bool operator==(const Part& o) const { return key() == o.key(); }
  std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t> key() const {
    return {batch, kv_head, first_row, block_begin, block_end, tile_rows};
  }
};

std::mutex mutex;
std::vector<Part> parts;
std::atomic<int> ranges{0}, finishes{0}, broken{0};
int32_t first_block = 0, end_block = -1;  // -1: after the last key
int range_code = 0, part_code = 0, finish_code = 0;

int32_t integer(void* argument) {
  int32_t value = 0;
  std::memcpy(&value, argument, sizeof(value));
  return value;
}

int fake_range(void** argv) {
  ++ranges;
  const auto* out = static_cast<HalideBuffer*>(argv[7]);
  auto* range = reinterpret_cast<int32_t*>(out->host);
  const int32_t kv_len = integer(argv[4]);
  range[0] = first_block;
  range[1] = end_block >= 0 ? end_block : (kv_len + kKeyBlock - 1) / kKeyBlock;
  return range_code;
}

// A record holds how many blocks it stands for, and the number of its row in the group.
template <int kRows>
int fake_part(void** argv) {
  const auto* q = static_cast<HalideBuffer*>(argv[1]);
  const auto* records = static_cast<HalideBuffer*>(argv[14]);
  const Part part = {integer(argv[11]), integer(argv[12]), integer(argv[5]),
                     integer(argv[6]),  integer(argv[7]),  kRows};
  const int32_t heads = integer(argv[4]), q_len = integer(argv[9]);
  const bool shapes = q->dimensions == 3 && q->dim[1].extent == heads &&
                      q->dim[2].extent == q_len && records->dim[0].extent == kLanes &&
                      records->dim[1].extent == kSlots && records->dim[2].extent == 1 &&
                      records->dim[3].extent == kRows && records->dim[3].stride == kLanes * kSlots;
  if (!shapes) ++broken;
  for (int32_t i = 0; i < kRows; ++i) {
    float* record = reinterpret_cast<float*>(records->host) + i * records->dim[3].stride;
    std::fill(record, record + kLanes * kSlots, -1.0F);
    record[0] = static_cast<float>(part.block_end - part.block_begin);
    record[1] = static_cast<float>(part.first_row + i);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  parts.push_back(part);
  return part_code;
}

// Adds to each element of the row how many blocks its records stand for.
int fake_finish(void** argv) {
  ++finishes;
  const auto* records = static_cast<HalideBuffer*>(argv[1]);
  const int32_t head = integer(argv[2]), row = integer(argv[3]), kv_head = integer(argv[8]);
  const auto* out = static_cast<HalideBuffer*>(argv[9]);
  const int32_t heads = 2;
  float blocks = 0;
  for (int32_t c = 0; c < records->dim[3].extent; ++c) {
    const float* record =
        reinterpret_cast<const float*>(records->host) + int64_t{c} * records->dim[3].stride;
    blocks += record[0];
    if (record[1] != static_cast<float>(row * heads + head - kv_head * heads)) ++broken;
  }
  if (out->dim[1].extent != 1) ++broken;
  for (int32_t d = 0; d < out->dim[0].extent; ++d)
    reinterpret_cast<float*>(out->host)[d] += 1 + blocks;
  return finish_code;
}

const fovea_decode_part kParts[] = {{1, &fake_part<1>}, {4, &fake_part<4>}};
const fovea_decode_info kDecode = {kKeyBlock, kChunkBlocks, kLanes,      kSlots,      1, 0,
                                   2,         kParts,       &fake_range, &fake_finish};
const fovea_decode_info kDecodeByHead = {kKeyBlock, kChunkBlocks, kLanes,      kSlots,      1, 1,
                                         2,         kParts,       &fake_range, &fake_finish};

// A call of variant `plain` whose library holds one decode kernel besides the others.
struct DecodeCall : Attention {
  explicit DecodeCall(int64_t sq = 3, int64_t skv = 12, const fovea_decode_info& info = kDecode)
      : Attention(kPlain, 2, 4, 2, sq, skv),
        kernels(library.kernels, library.kernels + library.kernel_count) {
    kernels.insert(kernels.begin(),
                   {"fovea_decode__plain__f32__d4__x86-sse41", kPlain, 0, FOVEA_DECODE, FOVEA_F32,
                    FOVEA_CACHE_NONE, 4, 4, 4, kScratchBytes, nullptr, &info, 0, 0});
    library.kernels = kernels.data();
    library.kernel_count = static_cast<int32_t>(kernels.size());
    parts.clear();
    ranges = finishes = broken = 0;
    first_block = 0;
    end_block = -1;
    range_code = part_code = finish_code = 0;
    forget_seen();
  }
  std::vector<fovea_kernel_info> kernels;
};

TEST(Decode, ComputesEveryRowOnceFromItsChunksInTilesOfRows) {
  for (const int32_t threads : {1, 3, 64}) {
    DecodeCall a;
    a.exec.threads = threads;
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(broken, 0);
    EXPECT_EQ(ranges, 2) << "one a sequence";
    EXPECT_EQ(finishes, 2 * 4 * 3);
    for (const float o : a.out) EXPECT_EQ(o, 1 + 6);
    std::vector<Part> expected;
    for (int32_t b = 0; b < 2; ++b) {
      for (int32_t h = 0; h < 2; ++h) {
        for (int32_t begin = 0; begin < 6; begin += 2) {
          expected.push_back({b, h, 0, begin, begin + 2, 4});
          expected.push_back({b, h, 4, begin, begin + 2, 4});
        }
      }
    }
    std::sort(parts.begin(), parts.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(parts == expected);
  }
}

TEST(Decode, TakesASingleRowAsOne) {
  DecodeCall a(1);
  a.call.k.extent[1] = a.call.v.extent[1] = 2;
  a.call.q.extent[1] = a.call.out.extent[1] = 2;  // one query head for each KV head
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  for (const Part& part : parts) EXPECT_EQ(part.tile_rows, 1);
  EXPECT_EQ(parts.size(), 2U * 2 * 3);
}

TEST(Decode, ReadsTheBlocksOfTheRangeAloneInChunksAtFixedPlaces) {
  DecodeCall a(1);
  first_block = 1;
  end_block = 4;
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  for (const float o : a.out) EXPECT_EQ(o, 1 + 3);
  for (const Part& part : parts) {
    EXPECT_TRUE((part.block_begin == 1 && part.block_end == 2) ||
                (part.block_begin == 2 && part.block_end == 4));
  }
  EXPECT_EQ(parts.size(), 2U * 2 * 2);
}

TEST(Decode, AsksForTheRangeOfEveryHeadWhereItDiffers) {
  DecodeCall a(1, 12, kDecodeByHead);
  ASSERT_EQ(a.run(), FOVEA_OK);
  EXPECT_EQ(ranges, 2 * 2);
}

TEST(Decode, RowsWithoutKeysAreFinishedAndRowsThatDoNotExistAreNot) {
  DecodeCall a;
  a.kv_len = {0, 5};
  a.q_len = {2, 0};
  a.call.kv_len = a.kv_len.data();
  a.call.q_len = a.q_len.data();
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_TRUE(parts.empty());
  EXPECT_EQ(finishes, 4 * 2);
  for (size_t i = 0; i < a.out.size(); ++i) {
    const size_t b = i / (4 * 3 * 4), row = i / 4 % 3;
    EXPECT_EQ(a.out[i], b == 0 && row < 2 ? 1 : 0) << i;
  }
}

TEST(Decode, UsesTheCallersWorkspaceAndRefusesASmallerOne) {
  DecodeCall a;
  const size_t size = a.workspace();
  ASSERT_GT(size, 0U);
  std::vector<unsigned char> memory(size + 1, 0xee);
  a.call.workspace = memory.data() + 1;
  a.call.workspace_size = size;
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  for (const float o : a.out) EXPECT_EQ(o, 1 + 6);
  a.call.workspace_size = size - 1;
  EXPECT_EQ(a.run(), FOVEA_WORKSPACE_TOO_SMALL);
  // Of the shape alone: lengths make no difference.
  a.kv_len = {1, 12};
  a.call.kv_len = a.kv_len.data();
  EXPECT_EQ(a.workspace(), size);
}

TEST(Decode, ErrorsOfEveryFunctionAreReported) {
  for (int* code : {&range_code, &part_code, &finish_code}) {
    for (const int32_t threads : {1, 3}) {
      DecodeCall a;
      a.exec.threads = threads;
      *code = -7;
      EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
      EXPECT_STREQ(fovea_last_message(),
                   "kernel fovea_decode__plain__f32__d4__x86-sse41 returned error code -7");
      *code = 0;
    }
  }
}

TEST(Decode, IsChosenForFewRowsAndExplainSaysWhy) {
  struct Row {
    int64_t q_rows;
    const char* pass;
    const char* reason;
    bool decodes;
  };
  for (const Row& row : {Row{1, nullptr, "pass decode: at most 16 query rows", true},
                         Row{16, nullptr, "pass decode: at most 16 query rows", true},
                         Row{17, nullptr, "pass prefill: more than 16 query rows", false},
                         Row{17, "decode", "pass decode: exec.pass forces it", true},
                         Row{1, "prefill", "pass prefill: exec.pass forces it", false}}) {
    DecodeCall a(row.q_rows);
    a.exec.pass = row.pass;
    std::string text;
    ASSERT_EQ(a.explain(&text), FOVEA_OK) << text;
    EXPECT_NE(text.find(row.reason), std::string::npos) << text;
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(finishes > 0, row.decodes);
    EXPECT_EQ(seen().empty(), row.decodes);
  }
}

TEST(Decode, GivesWayWhereItCannotServe) {
  {
    Attention a(kFull, 1, 2, 1, 1, 12);
    std::string text;
    ASSERT_EQ(a.explain(&text), FOVEA_OK);
    EXPECT_NE(text.find("pass prefill: no decode kernel can be used"), std::string::npos) << text;
  }
  {
    Attention a(kEvery, 1, 2, 1, 1, 12);
    std::string text;
    ASSERT_EQ(a.explain(&text), FOVEA_OK);
    EXPECT_NE(text.find("pass prefill: decode does not return probabilities"), std::string::npos)
        << text;
    a.exec.pass = "decode";
    EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
    EXPECT_NE(std::string(fovea_last_message()).find("must be NULL, pass decode"),
              std::string::npos);
  }
  {
    Attention a(kPlain);
    a.exec.pass = "decode";
    EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
    EXPECT_NE(std::string(fovea_last_message()).find("pass decode"), std::string::npos)
        << fovea_last_message();
  }
}

TEST(Decode, HeadsOfQueriesThatLieTooFarApartAreForPrefill) {
  DecodeCall a(1);
  // One KV head's worth of queries each, as far apart as no buffer of these tests is.
  a.call.q.extent[0] = a.call.k.extent[0] = a.call.v.extent[0] = a.call.out.extent[0] = 1;
  a.call.q.extent[1] = a.call.out.extent[1] = 2;
  a.call.k.extent[1] = a.call.v.extent[1] = 1;
  a.call.q.stride[1] = int64_t{1} << 40;
  std::string text;
  ASSERT_EQ(a.explain(&text), FOVEA_OK) << text;
  EXPECT_NE(text.find("pass prefill: the head stride of q is beyond 32 bits"), std::string::npos)
      << text;
  a.exec.pass = "decode";
  EXPECT_EQ(a.explain(&text), FOVEA_UNSUPPORTED);
  EXPECT_NE(text.find("q.stride[1] = 1099511627776"), std::string::npos) << text;
}

}  // namespace
}  // namespace fovea::test
