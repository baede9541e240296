// tile_status_test.cpp: which key blocks are run, against the mask element by element: the
// catalogue exactly, thousands of random masks for soundness.
// SPDX-License-Identifier: Apache-2.0
#include "generators/analysis/tile_status.h"

#include <fovea/dsl.h>
#include <fovea/dsl/evaluate.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fovea {
namespace {

using ::testing::HasSubstr;

int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

// Numbers for everything a mask may read, and a tile.
struct Sample {
  Environment<double> environment;
  int64_t q_first = 0, q_offset = 0, blocks = 0;
};

int64_t draw_scalar(Random& random, const Parameter& p) {
  const int64_t low = static_cast<int64_t>(p.minimum) + p.exclusive_minimum,
                high = static_cast<int64_t>(p.maximum);
  if (random.one_in(10)) return random.one_in(2) ? low : high;
  const int64_t size = random.one_in(2) ? 10 : 500;
  const int64_t first = std::max(low, -size / 2);
  return random.between(first, std::max(first, std::min(high, first + size)));
}

Sample draw_sample(Random& random, const Variant& variant, const TileStatus& status) {
  Sample s;
  auto& variables = s.environment.variables;
  // Now and then a long way from zero.
  const int64_t far = random.one_in(4) ? random.between(0, 1 << 20) : 0;
  s.blocks = random.between(1, 4);
  s.q_first = far + random.between(-2 * status.block_rows, 4 * status.key_block);
  if (random.one_in(2)) s.q_first -= s.q_first % status.block_rows;
  s.q_offset = s.q_first - random.between(0, 3) * status.block_rows;
  for (const char* name : {"batch", "head", "kv_head"})
    variables[name] = Lanes<double>::integer(random.between(0, 5));
  for (const char* name : {"q_len", "kv_len"})
    variables[name] = Lanes<double>::integer(random.between(1, 4 * status.key_block));
  for (const auto& p : variant.parameters()) {
    if (p->kind == Parameter::Kind::Scalar)
      variables[p->name] = Lanes<double>::integer(draw_scalar(random, *p));
  }
  const auto salt = static_cast<uint64_t>(random.between(0, 1 << 30));
  const int64_t largest = random.one_in(3) ? 1 : random.between(1, 4 * status.key_block);
  // Long runs of equal entries, too: blocks are seldom whole or empty without.
  const int64_t run = random.one_in(2) ? 1 : random.between(1, 3 * status.key_block);
  s.environment.table = [=](const std::string& table, std::vector<int64_t> indices) {
    indices.back() = (indices.back() + (1 << 22)) / run;
    uint64_t h = salt + table.size();
    for (const int64_t i : indices) h = (h ^ static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
    return static_cast<double>((h >> 33) % static_cast<uint64_t>(largest + 1));
  };
  return s;
}

void set(Environment<double>& environment, const Expr& variable, int64_t value) {
  environment.variables[variable.as<Halide::Internal::Variable>()->name] =
      Lanes<double>::integer(value);
}

std::vector<int64_t> evaluate_over(const Expr& e, const Environment<double>& environment,
                                   const std::string& variable, int64_t count) {
  Environment<double> here = environment;
  here.lanes = static_cast<size_t>(count);
  Lanes<double> lanes;
  for (int64_t i = 0; i < count; ++i) lanes.integers.push_back(i);
  here.variables[variable] = std::move(lanes);
  std::vector<int64_t> values = evaluate(e, here).integers;
  if (values.size() == 1) values.resize(static_cast<size_t>(count), values[0]);
  return values;
}

// The extremes of the mask's table entries over the tile's rows and each block's keys.
void set_bounds(Environment<double>& environment, const TileStatus& status, const Sample& s) {
  for (const TileStatus::Bound& b : status.bounds) {
    Lanes<double> low, high;
    for (int64_t block = 0; block < (b.of_keys ? s.blocks : 1); ++block) {
      const int64_t count = b.of_keys ? status.key_block : status.block_rows;
      int64_t least = std::numeric_limits<int64_t>::max(), most = -least;
      for (int64_t i = 0; i < count; ++i) {
        Environment<double> here = environment;
        here.variables[b.of_keys ? "k" : "q"] =
            Lanes<double>::integer(b.of_keys ? block * count + i : s.q_first + i);
        const int64_t entry = evaluate(b.entry, here).integers.at(0);
        least = std::min(least, entry);
        most = std::max(most, entry);
      }
      low.integers.push_back(least);
      high.integers.push_back(most);
    }
    environment.variables[b.low] = low;
    environment.variables[b.high] = high;
  }
}

// What the conditions say, what is true, and the first place where they part.
struct Comparison {
  bool sound = true, live_exact = true, full_exact = true, live_key_exact = true,
       full_key_exact = true;
  int64_t run = 0, needed = 0;  // blocks
  std::string where;
};

Comparison compare(const TileStatus& status, const Expr& mask, const Sample& s) {
  const auto rows = status.block_rows, block_keys = status.key_block;
  const int64_t keys = s.blocks * block_keys;
  Environment<double> environment = s.environment;
  set(environment, TileStatus::q_first(), s.q_first);
  set(environment, TileStatus::q_offset(), s.q_offset);
  set_bounds(environment, status, s);
  const std::string k_block_name = TileStatus::k_block().as<Halide::Internal::Variable>()->name;
  const auto live = evaluate_over(status.live, environment, k_block_name, s.blocks);
  const auto full = evaluate_over(status.full, environment, k_block_name, s.blocks);
  for (const TileStatus::Bound& b : status.bounds) {
    if (b.of_keys) environment.variables.erase(b.low), environment.variables.erase(b.high);
  }
  const auto live_key = evaluate_over(status.live_key, environment, "k", keys);
  const auto full_key = evaluate_over(status.full_key, environment, "k", keys);
  const auto of_blocks = [&](const Expr& e) {
    return evaluate_over(e, environment, k_block_name, s.blocks);
  };
  const auto live_first = of_blocks(status.live_keys.first),
             live_last = of_blocks(status.live_keys.last),
             full_first = of_blocks(status.full_keys.first),
             full_last = of_blocks(status.full_keys.last);
  std::vector<bool> any(static_cast<size_t>(keys), false), all(static_cast<size_t>(keys), true);
  for (int64_t row = 0; row < rows; ++row) {
    environment.variables["q"] = Lanes<double>::integer(s.q_first + row);
    environment.variables["row"] = Lanes<double>::integer(s.q_first + row - s.q_offset);
    const auto visible = evaluate_over(mask, environment, "k", keys);
    for (size_t k = 0; k < visible.size(); ++k) {
      any[k] = any[k] || visible[k];
      all[k] = all[k] && visible[k];
    }
  }
  Comparison c;
  const auto fault = [&](const char* what, size_t at) {
    if (c.sound)
      c.where = std::string(what) + " at " + std::to_string(at) + ", q_first " +
                std::to_string(s.q_first);
    c.sound = false;
  };
  for (size_t k = 0; k < any.size(); ++k) {
    if (any[k] && !live_key[k]) fault("live_key hides a visible key", k);
    c.live_key_exact = c.live_key_exact && any[k] == (live_key[k] != 0);
    const size_t b = k / static_cast<size_t>(block_keys);
    const auto key = static_cast<int64_t>(k);
    if (any[k] && (key < live_first[b] || live_last[b] < key)) fault("live_keys leaves out", k);
    if (!all[k] && full_first[b] <= key && key <= full_last[b]) fault("full_keys claims", k);
    if (!all[k] && full_key[k]) fault("full_key claims a key that some row does not see", k);
    c.full_key_exact = c.full_key_exact && all[k] == (full_key[k] != 0);
  }
  const auto step = static_cast<std::ptrdiff_t>(block_keys);
  for (size_t b = 0; b < live.size(); ++b) {
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(b) * step;
    const bool some =
        std::any_of(any.begin() + begin, any.begin() + begin + step, [](bool x) { return x; });
    const bool whole =
        std::all_of(all.begin() + begin, all.begin() + begin + step, [](bool x) { return x; });
    if (some && !live[b]) fault("live skips a block with visible keys", b);
    if (!whole && full[b]) fault("full claims a block with hidden keys", b);
    c.live_exact = c.live_exact && some == (live[b] != 0);
    c.full_exact = c.full_exact && whole == (full[b] != 0);
    c.run += live[b] != 0;
    c.needed += some;
  }
  return c;
}

std::string text_of(const TileStatus& status) {
  std::ostringstream out;
  out << "live     " << status.live << "\nfull     " << status.full << "\nlive_key "
      << status.live_key << "\nfull_key " << status.full_key << "\nfallback " << status.fallback;
  return out.str();
}

struct Tile {
  int block_rows, key_block;
};
constexpr Tile tiles[] = {{64, 128}, {24, 128}, {12, 64}, {8, 8}, {1, 16}};

TEST(TileStatus, CatalogueIsExact) {
  int64_t run = 0, needed = 0;
  for (const Variant& v : declared_variants()) {
    // A block that is partly global and for the rest inside every row's window is whole, which no
    // condition on intervals sees.
    const bool full_may_be_partial = v.name() == "global_window";
    for (const Tile& tile : tiles) {
      const TileStatus status = tile_status(v, tile.block_rows, tile.key_block);
      SCOPED_TRACE(v.name() + " " + std::to_string(tile.block_rows) + "x" +
                   std::to_string(tile.key_block) + "\n" + text_of(status));
      EXPECT_EQ(status.fallback, "");
      Random random(7);
      for (int i = 0; i < 40; ++i) {
        const Comparison c = compare(status, v.mask(), draw_sample(random, v, status));
        ASSERT_TRUE(c.sound) << c.where;
        EXPECT_TRUE(c.live_exact);
        EXPECT_TRUE(c.live_key_exact);
        EXPECT_TRUE(c.full_key_exact);
        EXPECT_TRUE(c.full_exact || full_may_be_partial);
        run += c.run;
        needed += c.needed;
      }
    }
  }
  EXPECT_EQ(run, needed);
  EXPECT_GT(needed, 1000);
}

// Masks put together at random from what an author writes, with the text of the recipe.
class MaskMaker {
 public:
  MaskMaker(Variant& v, Random& random) : v_(v), random_(random) {}

  std::pair<Mask, std::string> make(int depth) {
    if (depth == 0 || random_.one_in(4)) return piece();
    auto [a, a_text] = make(depth - 1);
    switch (random_.between(0, 4)) {
      case 0:
        return {!a, "!(" + a_text + ")"};
      case 1:
      case 2: {
        auto [b, b_text] = make(depth - 1);
        return {a & b, "(" + a_text + " & " + b_text + ")"};
      }
      default: {
        auto [b, b_text] = make(depth - 1);
        return {a | b, "(" + a_text + " | " + b_text + ")"};
      }
    }
  }

 private:
  struct Number {
    Expr value;
    std::string text;
  };

  // A constant, a scalar of the variant or an entry of a table, at least `minimum`.
  Number number(int minimum, int maximum) {
    if (random_.one_in(3)) {
      const std::string name = "s" + std::to_string(minimum < 0 ? 0 : minimum);
      const Parameter* known = v_.find_parameter(name);
      if (!known) v_.scalar<int>(name).at_least(minimum);
      return {Halide::Internal::Variable::make(Halide::Int(32), name), name};
    }
    if (minimum <= 0 && random_.one_in(6)) {
      const Table<int> t = table_("lengths", {axis::batch});
      return {t(symbolic_position().batch), "lengths(batch)"};
    }
    const auto n = static_cast<int>(random_.between(minimum, maximum));
    return {n, std::to_string(n)};
  }

  std::pair<Mask, std::string> piece() {
    const Number a = number(0, 40), b = number(0, 200), one = number(1, 30);
    const auto n = static_cast<int>(random_.between(2, 40));
    const std::string n_text = std::to_string(n);
    using P = Position;
    switch (random_.between(0, 28)) {
      case 0:
      case 1:
        return {masks::causal(), "causal"};
      case 2:
        return {masks::last_tokens(one.value), "last_tokens(" + one.text + ")"};
      case 3:
        return {masks::window(a.value, b.value), "window(" + a.text + ", " + b.text + ")"};
      case 4:
        return {masks::first_tokens(b.value), "first_tokens(" + b.text + ")"};
      case 5:
        return {masks::chunked(one.value), "chunked(" + one.text + ")"};
      case 6:
        return {masks::chunked(n), "chunked(" + n_text + ")"};
      case 7:
        return {[=](P p) { return p.k % n == 0; }, "k % " + n_text + " == 0"};
      case 8:
        return {[=](P p) { return (p.q - p.k) % n == 0; }, "(q - k) % " + n_text + " == 0"};
      case 9:
        return {[=](P p) { return p.k / n <= p.q / n; }, "k / n <= q / n, n " + n_text};
      case 10:
        return {[=](P p) { return p.k >= max(p.q - a.value, 0); },
                "k >= max(q - " + a.text + ", 0)"};
      case 11:
        return {[=](P p) { return abs(p.q - p.k) <= a.value; }, "abs(q - k) <= " + a.text};
      case 12:
        return {[=](P p) { return p.q < b.value; }, "q < " + b.text};
      case 13:
        return {[=](P p) { return p.k < p.kv_len - a.value; }, "k < kv_len - " + a.text};
      case 14:
        return {[=](P p) { return p.head % 2 == 0; }, "head % 2 == 0"};
      case 15:
        return {[=](P p) { return p.q * 2 > p.k * 3 + b.value; }, "q * 2 > k * 3 + " + b.text};
      case 16:
        return {[=](P p) { return select(p.k<a.value, p.q> b.value, p.k <= p.q); },
                "select(k < " + a.text + ", q > " + b.text + ", k <= q)"};
      case 17: {
        const Table<int> t = table_("segment", {axis::key});
        return {[=](P p) { return t(p.q) == t(p.k); }, "segment(q) == segment(k)"};
      }
      case 19: {
        const Table<int> t = table_("first", {axis::query});
        return {[=](P p) { return t(p.q) <= p.k + a.value; }, "first(q) <= k + " + a.text};
      }
      case 20: {
        const Table<int> t = table_("end", {axis::batch, axis::key});
        return {[=](P p) { return p.q < t(p.batch, p.k); }, "q < end(batch, k)"};
      }
      case 21: {
        const Table<bool> t = flags_("flag", {axis::position});
        return {[=](P p) { return t(p.q) || t(p.k); }, "flag(q) or flag(k)"};
      }
      case 22: {
        const Table<bool> t = flags_("map", {axis::head, axis::any, axis::any});
        return {[=](P p) { return t(p.head, p.q / n, p.k / one.value); },
                "map(head, q / " + n_text + ", k / " + one.text + ")"};
      }
      case 23: {
        const Table<bool> t = flags_("dense", {axis::row, axis::key});
        return {[=](P p) { return t(p.row, p.k); }, "dense(row, k)"};
      }
      case 24: {
        const Table<int> t = table_("of_row", {axis::row}), u = table_("segment", {axis::key});
        return {[=](P p) { return t(p.row) % 3 != u(p.k) % 3; },
                "of_row(row) % 3 != segment(k) % 3"};
      }
      case 25: {
        const Table<int> t = table_("first", {axis::query}), u = table_("list", {axis::any});
        return {masks::block_lists(t, u, 3, n, one.value),
                "block_lists of 3, " + n_text + ", " + one.text};
      }
      case 26: {
        const Table<int> t = table_("of_row", {axis::row}), u = table_("list", {axis::any});
        return {[=](P p) { return u(t(p.row)) <= p.k && p.k < u(t(p.row)) + b.value; },
                "list(of_row(row)) <= k < list(of_row(row)) + " + b.text};
      }
      case 27:
        return {[=](P p) { return p.row < p.k + a.value; }, "row < k + " + a.text};
      case 28: {
        const Table<int> t = table_("segment", {axis::key});
        return {[=](P p) { return t(p.k) + p.k <= p.q; }, "segment(k) + k <= q"};
      }
      case 18:
        return {[=](P p) { return clamp(p.q, a.value, b.value + 50) <= p.k + one.value; },
                "clamp(q, " + a.text + ", " + b.text + " + 50) <= k + " + one.text};
      default:
        return {[=](P p) { return p.k % n < p.q % n; }, "k % n < q % n, n " + n_text};
    }
  }

  Table<int> table_(const std::string& name, std::initializer_list<Axis> axes) {
    for (const auto& p : v_.parameters()) {
      if (p->name == name) return Table<int>(v_.name(), p);
    }
    return v_.table<int>(name, axes);
  }

  Table<bool> flags_(const std::string& name, std::initializer_list<Axis> axes) {
    for (const auto& p : v_.parameters()) {
      if (p->name == name) return Table<bool>(v_.name(), p);
    }
    return v_.table<bool>(name, axes);
  }

  Variant& v_;
  Random& random_;
};

TEST(TileStatus, RandomMasksAreNeverWrong) {
  const int64_t seed = number_from_environment("FOVEA_TEST_SEED", 20240617);
  const int64_t count = number_from_environment("FOVEA_TEST_MASKS", 2000);
  printf("%lld masks from FOVEA_TEST_SEED=%lld\n", static_cast<long long>(count),
         static_cast<long long>(seed));
  int64_t fallbacks = 0, run = 0, needed = 0, blocks = 0;
  std::vector<std::string> examples;
  constexpr Tile small_tiles[] = {{8, 8}, {4, 16}, {12, 32}, {3, 5}};
  for (int64_t i = 0; i < count; ++i) {
    Random random(static_cast<uint64_t>(seed + i));
    Variant v("random_mask");
    const auto [mask, text] = MaskMaker(v, random).make(3);
    v.keep(mask);
    const Tile& tile = small_tiles[random.between(0, 3)];
    const TileStatus status = tile_status(v, tile.block_rows, tile.key_block);
    if (!status.fallback.empty()) {
      ++fallbacks;
      if (examples.size() < 5) examples.push_back(text + ": " + status.fallback);
    }
    for (int j = 0; j < 12; ++j) {
      const Sample s = draw_sample(random, v, status);
      const Comparison c = compare(status, v.mask(), s);
      run += c.run;
      needed += c.needed;
      blocks += s.blocks;
      if (c.sound) continue;
      std::string scalars;
      for (const auto& p : v.parameters()) {
        if (p->kind == Parameter::Kind::Scalar)
          scalars += " " + p->name + "=" +
                     std::to_string(s.environment.variables.at(p->name).integers.at(0));
      }
      ADD_FAILURE() << "FOVEA_TEST_SEED=" << seed + i << " FOVEA_TEST_MASKS=1: " << text
                    << "\ntile " << tile.block_rows << "x" << tile.key_block << ": " << c.where
                    << scalars << "\n"
                    << text_of(status);
      break;
    }
  }
  printf("%lld fell back; %lld of %lld blocks run, %lld needed\n",
         static_cast<long long>(fallbacks), static_cast<long long>(run),
         static_cast<long long>(blocks), static_cast<long long>(needed));
  for (const std::string& e : examples) printf("  %s\n", e.c_str());
}

TEST(TileStatus, AWrongConditionFallsBack) {
  Variant v("causal");
  v.keep(masks::causal());
  const TileStatus derived = derive_tile_status(v, 8, 16);
  const TileStatus good = check_tile_status(derived, v);
  EXPECT_EQ(good.fallback, "");
  EXPECT_EQ(text_of(good), text_of(derived));

  TileStatus wrong = derived;
  wrong.live = wrong.live && TileStatus::k_block() > 0;
  wrong = check_tile_status(wrong, v);
  EXPECT_THAT(wrong.fallback, HasSubstr("'live' disagrees with the mask"));
  EXPECT_TRUE(Halide::Internal::is_const_one(wrong.live));
  EXPECT_TRUE(Halide::Internal::equal(wrong.full, derived.full));
  EXPECT_TRUE(Halide::Internal::equal(wrong.live_key, derived.live_key));

  // By one key at the diagonal.
  wrong = derived;
  wrong.full = TileStatus::k_block() * 16 + 14 <= TileStatus::q_first();
  wrong = check_tile_status(wrong, v);
  EXPECT_THAT(wrong.fallback, HasSubstr("'full' disagrees with the mask"));
  EXPECT_TRUE(Halide::Internal::is_const_zero(wrong.full));
  EXPECT_TRUE(Halide::Internal::equal(wrong.live, derived.live));

  wrong = derived;
  wrong.live_key = symbolic_position().k < TileStatus::q_first() + 7;
  wrong = check_tile_status(wrong, v);
  EXPECT_THAT(wrong.fallback, HasSubstr("'live_key' disagrees with the mask"));
  EXPECT_TRUE(Halide::Internal::is_const_one(wrong.live_key));

  wrong = derived;
  wrong.full_key = symbolic_position().k <= TileStatus::q_first() + 1;
  wrong = check_tile_status(wrong, v);
  EXPECT_THAT(wrong.fallback, HasSubstr("'full_key' disagrees with the mask"));
  EXPECT_TRUE(Halide::Internal::is_const_zero(wrong.full_key));

  // One that is merely too cautious is kept.
  TileStatus cautious = derived;
  cautious.live = Halide::Internal::const_true();
  cautious.full = Halide::Internal::const_false();
  EXPECT_EQ(check_tile_status(cautious, v).fallback, "");
}

// The same, for blocks so long that the second one is rarely reached.
TEST(TileStatus, LongBlocksAreCheckedBeyondTheFirst) {
  Variant v("causal");
  v.keep(masks::causal());
  TileStatus wrong = derive_tile_status(v, 16, 1024);
  wrong.live = wrong.live && TileStatus::k_block() < 2;
  EXPECT_THAT(check_tile_status(wrong, v).fallback, HasSubstr("'live'"));
}

// Bounds of the entries decide what is live and what is whole, exactly where one of the two sides
// is the same throughout its block.
TEST(TileStatus, DataDependentMasksAreAsExactAsTheirData) {
  Variant v("documents");
  const auto document = v.table<int>("document", {axis::batch, axis::position});
  v.keep([=](Position p) { return document(p.batch, p.q) == document(p.batch, p.k); });
  const TileStatus status = tile_status(v, 8, 8);
  EXPECT_EQ(status.fallback, "");
  EXPECT_EQ(status.bounds.size(), 2u);
  Sample s;
  for (const char* name : {"batch", "head", "kv_head"}) {
    s.environment.variables[name] = Lanes<double>::integer(0);
  }
  s.blocks = 8;
  // Documents 0, 1, 2 … of 12 tokens each.
  s.environment.table = [](const std::string&, const std::vector<int64_t>& at) {
    return static_cast<double>(at[1] / 12);
  };
  for (int64_t q_first = 0; q_first < 64; q_first += 8) {
    s.q_first = q_first;
    const Comparison c = compare(status, v.mask(), s);
    EXPECT_TRUE(c.sound && c.live_exact && c.full_exact) << c.where << "\n" << text_of(status);
    EXPECT_LT(c.run, 5);
  }
}

TEST(TileStatus, WhatCannotBeCheckedFallsBack) {
  Variant v("foreign");
  v.keep([](Position p) {
    return Halide::Internal::Call::make(Halide::Bool(), "foreign_function", {p.k},
                                        Halide::Internal::Call::PureExtern);
  });
  const TileStatus status = tile_status(v, 8, 8);
  EXPECT_THAT(status.fallback, HasSubstr("the mask cannot be checked: "));
  EXPECT_THAT(status.fallback, HasSubstr("foreign_function"));
  EXPECT_TRUE(Halide::Internal::is_const_one(status.live));
  EXPECT_TRUE(Halide::Internal::is_const_zero(status.full));
  EXPECT_TRUE(Halide::Internal::is_const_one(status.live_key));
  EXPECT_TRUE(Halide::Internal::is_const_zero(status.full_key));
}

// A scalar may have any name that a parameter can have.
TEST(TileStatus, NamesOfTheAnalysisAreItsOwn) {
  Variant v("names");
  const auto a = v.scalar<int>("entry_0");
  const auto b = v.scalar<int>("tile_q_first");
  const auto t = v.table<int>("length", {axis::batch});
  v.keep([=](Position p) { return p.k < t(p.batch) + a && p.q - p.k < b; });
  const TileStatus status = tile_status(v, 8, 8);
  EXPECT_EQ(status.fallback, "");
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    const Comparison c = compare(status, v.mask(), draw_sample(random, v, status));
    ASSERT_TRUE(c.sound) << c.where << "\n" << text_of(status);
  }
}

TEST(TileStatus, SameAnswerInEveryBuild) {
  for (const Variant& v : declared_variants())
    EXPECT_EQ(text_of(tile_status(v, 24, 128)), text_of(tile_status(v, 24, 128)));
}

}  // namespace
}  // namespace fovea
