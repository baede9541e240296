// schedule_text_test.cpp: schedules to and from text.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "generators/schedules/decode_cpu.h"
#include "generators/schedules/prefill_cpu.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    PrefillCpuSchedule().with(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ScheduleText, NamesTheParametersThatDiffer) {
  PrefillCpuSchedule start;
  start.lanes = 16;
  start.key_tile = 4;
  const PrefillCpuSchedule changed = start.with("row_vectors=3,key_tile=8 dot_pairs=1");
  EXPECT_EQ(changed.lanes, 16);
  EXPECT_EQ(changed.row_vectors, 3);
  EXPECT_EQ(changed.key_tile, 8);
  EXPECT_TRUE(changed.dot_pairs);
  EXPECT_EQ(start.with("").text(), start.text());
}

// Every field is in the text, or kernels of different schedules would be taken for one.
TEST(ScheduleText, RoundTrip) {
  PrefillCpuSchedule s;
  s.lanes = 1, s.row_vectors = 2, s.row_tiles = 3, s.key_tile = 4, s.feature_group = 5;
  s.key_block = 6, s.feature_unroll = 7, s.key_unroll = 8, s.tail_bodies = 9;
  s.dot_pairs = true;
  EXPECT_EQ(s.text(),
            "lanes=1 row_vectors=2 row_tiles=3 key_tile=4 feature_group=5 key_block=6 "
            "feature_unroll=7 key_unroll=8 tail_bodies=9 dot_pairs=1");
  EXPECT_EQ(PrefillCpuSchedule().with(s.text()).text(), s.text());
}

TEST(ScheduleText, RoundTripOfDecode) {
  DecodeCpuSchedule s;
  s.lanes = 1, s.wide_rows = 2, s.widest_rows = 9, s.key_block = 3, s.chunk_blocks = 4,
  s.key_streams = 7;
  s.prefetch_blocks = 8, s.product_features = 10, s.value_vectors = 5, s.feature_unroll = 6;
  EXPECT_EQ(s.text(),
            "lanes=1 wide_rows=2 widest_rows=9 key_block=3 chunk_blocks=4 key_streams=7 "
            "prefetch_blocks=8 product_features=10 value_vectors=5 feature_unroll=6 dot_pairs=0");
  EXPECT_EQ(DecodeCpuSchedule().with(s.text()).text(), s.text());
}

TEST(ScheduleText, TilesOfDecodeRise) {
  using Rows = std::vector<int>;
  DecodeCpuSchedule s;
  s.wide_rows = 4;
  EXPECT_EQ(s.tile_rows(), (Rows{1, 4}));
  EXPECT_EQ(s.with("widest_rows=8").tile_rows(), (Rows{1, 4, 8}));
  EXPECT_EQ(s.with("wide_rows=1,widest_rows=8").tile_rows(), (Rows{1, 8}));
}

TEST(ScheduleText, RulesOfDecode) {
  DecodeCpuSchedule good;
  good.lanes = 8, good.wide_rows = 4, good.key_block = 128, good.chunk_blocks = 4;
  good.product_features = 4, good.value_vectors = 8, good.feature_unroll = 2;
  check(good);
  for (const char* wrong :
       {"lanes=7", "wide_rows=3", "wide_rows=16", "widest_rows=4", "widest_rows=16",
        "key_block=100", "chunk_blocks=0", "key_streams=0", "key_streams=3", "prefetch_blocks=9",
        "product_features=2", "value_vectors=0", "feature_unroll=17"}) {
    const std::string text = wrong, name = text.substr(0, text.find('='));
    try {
      check(good.with(text));
      ADD_FAILURE() << text << " is accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("schedule parameter " + name + " is "));
    }
  }
}

TEST(ScheduleText, Refusals) {
  EXPECT_THAT(refusal("keytile=8"), HasSubstr("'keytile' is not a parameter; allowed are lanes"));
  EXPECT_THAT(refusal("key_tile"), HasSubstr("'key_tile' is not key_tile=NUMBER"));
  EXPECT_THAT(refusal("key_tile=8x"), HasSubstr("'key_tile=8x' is not key_tile=NUMBER"));
  EXPECT_THAT(refusal("dot_pairs=2"), HasSubstr("'dot_pairs=2': allowed is 0 or 1"));
}

}  // namespace
}  // namespace fovea
