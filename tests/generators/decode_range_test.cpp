// decode_range_test.cpp: the key blocks that decode looks at are those that some row sees.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "generators/pipelines/decode.h"
#include "generators/schedules/decode_cpu.h"

namespace fovea {
namespace {

constexpr int key_block = 8;

struct Range {
  int first, end;
  bool operator==(const Range&) const = default;
};

class RangeOf {
 public:
  explicit RangeOf(const Variant& variant) : variant_(variant) {
    AttentionTiling tiling;
    tiling.d_qk = tiling.d_v = 8;
    tiling.block_rows = 1;
    tiling.key_block = key_block;
    range_ = make_decode_range(variant_, tiling, tile_status(variant_, 1, key_block));
    schedule_decode_range(range_);
  }

  Range at(int heads, int q_offset, int q_len, int kv_len) {
    DecodeInputs& in = range_.inputs;
    in.heads.set(heads);
    in.q_offset.set(q_offset);
    in.q_len.set(q_len);
    in.kv_len.set(kv_len);
    in.batch.set(0);
    in.kv_head.set(0);
    const Halide::Buffer<int> got = range_.range.realize({2});
    return {got(0), got(1)};
  }

  void set(int parameter, int value) {
    range_.inputs.parameters[static_cast<size_t>(parameter)].set_scalar(value);
  }
  bool differs_between_heads() const { return range_.of_head; }

 private:
  Variant variant_;
  DecodeRange range_;
};

Variant with_mask(const std::function<void(Variant&)>& declare) {
  Variant v("masked");
  declare(v);
  return v;
}

TEST(DecodeRange, OfEverythingWithoutAMask) {
  RangeOf range(with_mask([](Variant&) {}));
  EXPECT_EQ(range.at(2, 0, 1, 17), (Range{0, 3}));
  EXPECT_EQ(range.at(2, 5, 3, 0), (Range{0, 0}));
}

TEST(DecodeRange, EndsWithTheLastRowUnderACausalMask) {
  RangeOf range(with_mask([](Variant& v) { v.keep(masks::causal()); }));
  EXPECT_EQ(range.at(1, 99, 1, 100), (Range{0, 13}));
  EXPECT_EQ(range.at(4, 0, 1, 100), (Range{0, 1}));
  EXPECT_EQ(range.at(4, 0, 9, 100), (Range{0, 2})) << "the last of nine rows sees key 8";
}

TEST(DecodeRange, IsThatOfTheWindow) {
  RangeOf range(with_mask([](Variant& v) {
    const auto window = v.scalar<int>("window").at_least(1);
    v.keep(masks::last_tokens(window));
  }));
  for (const int window : {1, 8, 9, 40}) {
    range.set(0, window);
    for (const int position : {0, 7, 8, 63, 1000}) {
      for (const int rows : {1, 4}) {
        const int first_key = std::max(0, position - window + 1), last_key = position + rows - 1;
        EXPECT_EQ(range.at(2, position, rows, 4096),
                  (Range{first_key / key_block, last_key / key_block + 1}))
            << "window " << window << " at " << position << ", " << rows << " rows";
      }
    }
  }
  range.set(0, 4);
  EXPECT_EQ(range.at(2, 5000, 1, 4096), (Range{0, 0})) << "no key that exists";
}

TEST(DecodeRange, IsAskedForEveryHeadWhereTheMaskIsDifferent) {
  EXPECT_FALSE(
      RangeOf(with_mask([](Variant& v) { v.keep(masks::causal()); })).differs_between_heads());
  EXPECT_TRUE(RangeOf(with_mask([](Variant& v) {
                v.keep([](Position p) { return p.q - p.k < 4 * (p.head + 1); });
              })).differs_between_heads());
}

}  // namespace
}  // namespace fovea
