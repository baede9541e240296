// masks_test.cpp: every named mask against a plain predicate, position by position over small
// domains. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/evaluate.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fovea {
namespace {

// A table of a test: any function of indices that are clamped into its extents first.
struct TestTable {
  std::vector<int64_t> extents;
  std::function<int64_t(const std::vector<int64_t>&)> entry;

  int64_t operator()(std::vector<int64_t> index) const {
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] = std::clamp<int64_t>(index[i], 0, extents[i] - 1);
    }
    return entry(index);
  }
};
using TestTables = std::map<std::string, TestTable>;

struct Place {
  int64_t batch = 0, head = 0, q = 0, k = 0, row = 0;
};
using Predicate = std::function<bool(const Place&)>;

constexpr int64_t q_offset = 3;

// Query positions from below 0 to beyond the last key; rows lie q_offset below positions.
void expect_mask(const Mask& mask, const Predicate& expected, int64_t keys = 26,
                 const TestTables& tables = {}) {
  const Expr expression = mask(symbolic_position());
  ASSERT_TRUE(expression.type().is_bool());
  Environment<double> environment;
  environment.lanes = static_cast<size_t>(keys);
  Lanes<double> lanes;
  for (int64_t k = 0; k < keys; ++k) lanes.integers.push_back(k);
  environment.variables["k"] = lanes;
  environment.table = [&](const std::string& name, const std::vector<int64_t>& index) {
    return static_cast<double>(tables.at(name)(index));
  };
  int64_t seen = 0;
  const auto set = [&](const char* name, int64_t value) {
    environment.variables[name] = Lanes<double>::integer(value);
  };
  set("kv_len", keys);
  set("q_len", keys);
  for (const auto& [batch, head] : {std::pair<int64_t, int64_t>(0, 0), {1, 0}, {1, 3}}) {
    for (int64_t q = -3; q < keys + 4; ++q) {
      set("batch", batch);
      set("head", head);
      set("kv_head", head / 2);
      set("q", q);
      set("row", q - q_offset);
      std::vector<int64_t> visible = evaluate(expression, environment).integers;
      if (visible.size() == 1) visible.resize(static_cast<size_t>(keys), visible[0]);
      for (int64_t k = 0; k < keys; ++k) {
        const Place p = {batch, head, q, k, q - q_offset};
        ASSERT_EQ(visible[static_cast<size_t>(k)] != 0, expected(p))
            << "batch " << batch << " head " << head << " q " << q << " k " << k;
        seen += visible[static_cast<size_t>(k)] != 0;
      }
    }
  }
  EXPECT_GT(seen, 0) << "a mask that hides everything shows nothing";
}

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t floor_mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }

TEST(Masks, FullCausalAndWindows) {
  expect_mask(masks::full(), [](const Place&) { return true; });
  expect_mask(masks::causal(), [](const Place& p) { return p.q >= p.k; });
  for (const int n : {1, 2, 5, 100}) {
    expect_mask(masks::last_tokens(n), [n](const Place& p) {
      return std::max<int64_t>(p.q - n + 1, 0) <= p.k && p.k <= p.q;
    });
    for (const int right : {0, 1, 7}) {
      expect_mask(masks::window(n, right), [n, right](const Place& p) {
        const int64_t distance = p.k - p.q;
        return distance < 0 ? -distance <= n : distance <= right;
      });
    }
    expect_mask(masks::first_tokens(n), [n](const Place& p) { return p.k <= n - 1; });
    expect_mask(masks::padding(n), [n](const Place& p) { return p.k <= n - 1; });
    expect_mask(masks::chunked(n), [n](const Place& p) {
      int64_t first = p.q;
      while (floor_mod(first, n) != 0) --first;
      return first <= p.k && p.k < first + n;
    });
  }
}

TEST(Masks, NumbersMayBeScalarsOrDependOnThePosition) {
  expect_mask(masks::last_tokens([](const Position& p) { return p.batch * 3 + p.head + 1; }),
              [](const Place& p) { return p.k <= p.q && p.q < p.k + p.batch * 3 + p.head + 1; });
  Variant v("sample");
  const auto window = v.scalar<int>("window").at_least(1);
  v.keep(masks::last_tokens(window));
  v.check();  // the scalar is used
}

TEST(Masks, Compositions) {
  expect_mask(masks::causal() & masks::window(4, 4),
              [](const Place& p) { return p.k <= p.q && p.k >= p.q - 4; });
  expect_mask(masks::causal() | masks::first_tokens(2),
              [](const Place& p) { return p.k <= p.q || p.k < 2; });
  expect_mask(!masks::causal(), [](const Place& p) { return p.k > p.q; });
}

TEST(Masks, Dilated) {
  for (const int reach : {0, 3, 8, 30}) {
    for (const int step : {1, 2, 3, 5}) {
      const auto in_reach = [=](const Place& p) {
        for (int64_t k = -30 * step; k <= 30 * step; k += step) {
          if (std::abs(k) <= reach && p.q + k == p.k) return true;
        }
        return false;
      };
      expect_mask(masks::dilated(reach, step), in_reach);
      expect_mask(masks::dilated(reach, step) & masks::causal(),
                  [=](const Place& p) { return in_reach(p) && p.k <= p.q; });
    }
  }
}

TEST(Masks, SparseTransformer) {
  for (const int stride : {1, 3, 4, 8}) {
    expect_mask(masks::strided(stride), [=](const Place& p) {
      if (p.k > p.q) return false;
      for (int64_t k = p.q; k >= 0; k -= stride) {
        if (k == p.k) return true;
      }
      return p.k >= std::max<int64_t>(0, p.q - stride);
    });
    for (const int summary : {0, 1, 2}) {
      if (summary > stride) continue;
      expect_mask(masks::fixed_blocks(stride, summary), [=](const Place& p) {
        if (p.k > p.q) return false;
        const bool own_block = p.k / stride == floor_div(p.q, stride);
        return own_block || p.k % stride + summary >= stride;
      });
    }
  }
}

TEST(Masks, GlobalTokens) {
  for (const int count : {0, 2, 9}) {
    if (count > 0) {
      expect_mask(masks::global_tokens(count),
                  [=](const Place& p) { return std::min(p.q, p.k) < count; });
    }
    expect_mask(masks::window(2, 2) | masks::global_tokens(count), [=](const Place& p) {
      return std::abs(p.q - p.k) <= 2 || p.q < count || p.k < count;
    });
  }
  Variant v("sample");
  const auto flag = v.table<bool>("flag", {axis::batch, axis::position});
  const TestTable table = {{2, 26}, [](const auto& i) { return i[1] % 7 == 2 + i[0] ? 1 : 0; }};
  expect_mask(
      masks::global_tokens(flag),
      [&](const Place& p) { return table({p.batch, p.q}) == 1 || table({p.batch, p.k}) == 1; }, 26,
      {{"flag", table}});
}

TEST(Masks, PrefixLm) {
  for (const int length : {0, 1, 6, 40}) {
    expect_mask(masks::prefix_lm(length),
                [=](const Place& p) { return p.k < length || p.q >= p.k; });
  }
}

// Three documents of unequal lengths, other ones in the second sequence.
const std::vector<std::vector<int64_t>> document_starts = {{0, 5, 6}, {0, 13, 20}};

int64_t document_at(int64_t batch, int64_t position) {
  const auto& starts = document_starts[static_cast<size_t>(batch)];
  return position < starts[1] ? 0 : position < starts[2] ? 1 : 2;
}
const TestTable document_table = {{2, 26}, [](const auto& i) { return document_at(i[0], i[1]); }};
const TestTable start_table = {{2, 26}, [](const auto& i) {
                                 const auto& starts = document_starts[static_cast<size_t>(i[0])];
                                 return starts[static_cast<size_t>(document_at(i[0], i[1]))];
                               }};

TEST(Masks, Documents) {
  Variant v("sample");
  const auto document = v.table<int>("document", {axis::batch, axis::position});
  const auto expected = [](const Place& p) {
    return document_at(p.batch, std::clamp<int64_t>(p.q, 0, 25)) == document_at(p.batch, p.k);
  };
  expect_mask(masks::documents(document), expected, 26, {{"document", document_table}});
  expect_mask(masks::documents([=](const Position& p) { return document(p.batch, p.q); },
                               [=](const Position& p) { return document(p.batch, p.k) + 1; }),
              [](const Place& p) {
                return document_at(p.batch, std::clamp<int64_t>(p.q, 0, 25)) ==
                       document_at(p.batch, p.k) + 1;
              },
              26, {{"document", document_table}});
}

TEST(Masks, IntervalsOfKeys) {
  Variant v("sample");
  const auto start = v.table<int>("start", {axis::batch, axis::query});
  const PositionValue first = [=](const Position& p) { return start(p.batch, p.q); };
  expect_mask(masks::keys_between(first, [](const Position& p) { return p.q + 1; }),
              [](const Place& p) {
                return p.k <= p.q && document_at(p.batch, std::min<int64_t>(p.q, 25)) ==
                                         document_at(p.batch, p.k);
              },
              26, {{"start", start_table}});
  for (const int prefix : {0, 2, 5}) {
    expect_mask(masks::shared_prefix(prefix, first),
                [=](const Place& p) {
                  const bool own = document_at(p.batch, std::clamp<int64_t>(p.q, 0, 25)) ==
                                   document_at(p.batch, p.k);
                  return p.k <= p.q && (own || p.k < prefix);
                },
                26, {{"start", start_table}});
  }
}

TEST(Masks, IntervalsOfRows) {
  Variant v("sample");
  const auto first = v.table<int>("first", {axis::batch, axis::key});
  const auto end = v.table<int>("end", {axis::batch, axis::key});
  const TestTables tables = {
      {"first", {{2, 26}, [](const auto& i) { return i[1] * (2 + i[0]) % 17; }}},
      {"end", {{2, 26}, [](const auto& i) { return i[1] * (2 + i[0]) % 17 + i[1] % 5; }}}};
  const PositionValue low = [=](const Position& p) { return first(p.batch, p.k); };
  const PositionValue high = [=](const Position& p) { return end(p.batch, p.k); };
  const auto between = [](const Place& p) {
    const int64_t begin = p.k * (2 + p.batch) % 17;
    return begin <= p.q && p.q < begin + p.k % 5;
  };
  expect_mask(masks::rows_between(low, high), between, 26, tables);
  expect_mask(
      masks::hidden_rows(low, high), [=](const Place& p) { return !between(p); }, 26, tables);
}

TEST(Masks, Tree) {
  Variant v("sample");
  const auto ancestor = v.table<bool>("ancestor", {axis::batch, axis::any, axis::any});
  // A binary heap, and a chain in the second sequence.
  const auto parent = [](int64_t batch, int64_t node) {
    return batch == 0 ? (node - 1) / 2 : node - 1;
  };
  const auto is_ancestor = [=](int64_t batch, int64_t node, int64_t other) {
    while (node > other && node > 0) node = parent(batch, node);
    return node == other;
  };
  for (const int prefix : {0, 4, 16}) {
    const int64_t nodes = 26 - prefix;
    const TestTable table = {{2, nodes, nodes},
                             [=](const auto& i) { return is_ancestor(i[0], i[1], i[2]) ? 1 : 0; }};
    expect_mask(masks::tree(prefix, ancestor),
                [=](const Place& p) {
                  if (p.k < prefix) return p.k <= p.q;
                  if (p.q < p.k) return false;
                  return is_ancestor(p.batch, std::min(p.q - prefix, nodes - 1), p.k - prefix);
                },
                26, {{"ancestor", table}});
  }
}

TEST(Masks, BlockMapAndBigBird) {
  Variant v("sample");
  const auto map = v.table<bool>("map", {axis::batch, axis::head, axis::any, axis::any});
  const TestTable pattern = {{2, 4, 7, 9}, [](const auto& i) {
                               return (i[2] * 3 + i[3] * 5 + i[0] + i[1]) % 4 == 0 ? 1 : 0;
                             }};
  for (const auto& [query_block, key_block] : {std::pair<int, int>(4, 3), {1, 8}}) {
    expect_mask(masks::block_map(map, query_block, key_block),
                [&, qb = query_block, kb = key_block](const Place& p) {
                  return pattern({p.batch, p.head, floor_div(p.q, qb), p.k / kb}) == 1;
                },
                26, {{"map", pattern}});
  }
  const auto random = v.table<bool>("random", {axis::head, axis::any, axis::any});
  const TestTable chosen = {
      {4, 9, 9}, [](const auto& i) { return (i[0] + i[1] * 5 + i[2] * 7) % 6 == 0 ? 1 : 0; }};
  for (const int block : {1, 3}) {
    for (const int reach : {0, 1}) {
      for (const int global : {0, 1}) {
        expect_mask(masks::bigbird(block, reach, global, random),
                    [&](const Place& p) {
                      const int64_t q = floor_div(p.q, block), k = p.k / block;
                      return std::abs(q - k) <= reach || std::min(q, k) < global ||
                             chosen({p.head, q, k}) == 1;
                    },
                    26, {{"random", chosen}});
      }
    }
  }
}

// NATTEN's rule for one axis, by counting: the `size` coordinates closest to q that exist, one more
// before than after q where the size is even.
bool near(int64_t q, int64_t k, int64_t extent, int64_t size) {
  int64_t first = q - size / 2;
  while (first + size > extent) --first;
  while (first < 0) ++first;
  return first <= k && k < first + size;
}

TEST(Masks, NeighborhoodOfOneAxis) {
  for (const int size : {1, 2, 3, 6, 7, 26}) {
    expect_mask(masks::neighborhood(row_major({26}), {26}, {size}),
                [=](const Place& p) { return near(p.q, p.k, 26, size); });
  }
  // By hand: 7 tokens, windows of 3 and 4.
  const Mask three = masks::neighborhood(row_major({7}), {7}, {3});
  const std::vector<int64_t> first_of_three = {0, 0, 1, 2, 3, 4, 4};
  expect_mask(
      three,
      [&](const Place& p) {
        const int64_t first = first_of_three[static_cast<size_t>(std::clamp<int64_t>(p.q, 0, 6))];
        return first <= p.k && p.k < first + 3;
      },
      7);
  const std::vector<int64_t> first_of_four = {0, 0, 0, 1, 2, 3, 3};
  expect_mask(
      masks::neighborhood(row_major({7}), {7}, {4}),
      [&](const Place& p) {
        const int64_t first = first_of_four[static_cast<size_t>(std::clamp<int64_t>(p.q, 0, 6))];
        return first <= p.k && p.k < first + 4;
      },
      7);
}

TEST(Masks, NeighborhoodOfTwoAxes) {
  constexpr int64_t height = 5, width = 7;
  for (const auto& [rows, columns] : {std::pair<int, int>(3, 3), {1, 7}, {5, 2}, {4, 5}}) {
    expect_mask(
        masks::neighborhood(row_major({5, 7}), {5, 7}, {rows, columns}),
        [rows = rows, columns = columns](const Place& p) {
          return near(floor_div(p.q, width), p.k / width, height, rows) &&
                 near(floor_mod(p.q, width), p.k % width, width, columns);
        },
        height * width);
  }
}

TEST(Masks, NeighborhoodOfThreeAxes) {
  constexpr int64_t depth = 3, height = 4, width = 5;
  expect_mask(
      masks::neighborhood(row_major({3, 4, 5}), {3, 4, 5}, {2, 3, 3}),
      [](const Place& p) {
        return near(floor_div(p.q, height * width), p.k / (height * width), depth, 2) &&
               near(floor_mod(floor_div(p.q, width), height), p.k / width % height, height, 3) &&
               near(floor_mod(p.q, width), p.k % width, width, 3);
      },
      depth * height * width);
}

// The token at each index of a 4 x 6 grid in 2 x 3 tiles, written out.
const std::vector<std::pair<int64_t, int64_t>> tiled_order = {
    {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {0, 4}, {0, 5}, {1, 3}, {1, 4}, {1, 5},
    {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}, {3, 2}, {2, 3}, {2, 4}, {2, 5}, {3, 3}, {3, 4}, {3, 5}};

int64_t value_of(const Expr& e) { return evaluate(e, Environment<double>()).integers.at(0); }

TEST(GridOrders, Remainders) {
  for (int64_t n = 1; n <= 9; ++n) {
    for (int64_t x = -20; x <= 20; ++x) {
      EXPECT_EQ(value_of(remainder_of(static_cast<int>(x), static_cast<int>(n))), floor_mod(x, n));
    }
  }
}

TEST(GridOrders, TileMajor) {
  const GridOrder order = tile_major({4, 6}, {2, 3}), tile = tile_of({4, 6}, {2, 3});
  for (size_t i = 0; i < tiled_order.size(); ++i) {
    const std::vector<Expr> at = order(static_cast<int>(i)), in = tile(static_cast<int>(i));
    ASSERT_EQ(at.size(), 2u);
    EXPECT_EQ(value_of(at[0]), tiled_order[i].first);
    EXPECT_EQ(value_of(at[1]), tiled_order[i].second);
    EXPECT_EQ(value_of(in.at(0)), tiled_order[i].first / 2);
    EXPECT_EQ(value_of(in.at(1)), tiled_order[i].second / 3);
  }
  const std::vector<Expr> video = tile_major({2, 4, 4}, {2, 2, 2})(21);
  // Tile 2 is (0, 1, 0); within it, 5 is (1, 0, 1).
  EXPECT_EQ(value_of(video.at(0)), 1);
  EXPECT_EQ(value_of(video.at(1)), 2);
  EXPECT_EQ(value_of(video.at(2)), 1);
}

TEST(Masks, NeighborhoodInTiledOrder) {
  expect_mask(
      masks::neighborhood(tile_major({4, 6}, {2, 3}), {4, 6}, {3, 3}),
      [](const Place& p) {
        // The order repeats every 24 tokens, 4 rows further down.
        auto q = tiled_order[static_cast<size_t>(floor_mod(p.q, 24))];
        q.first += 4 * floor_div(p.q, 24);
        const auto& k = tiled_order[static_cast<size_t>(p.k)];
        return near(q.first, k.first, 4, 3) && near(q.second, k.second, 6, 3);
      },
      24);
}

TEST(Masks, SlidingTile) {
  // 4 x 8 tokens in tiles of 2 x 2: a grid of 2 x 4 tiles.
  const auto tile = [](int64_t index) { return floor_div(index, 4); };
  expect_mask(
      masks::sliding_tile({4, 8}, {2, 2}, {1, 3}),
      [=](const Place& p) {
        const int64_t q = tile(p.q), k = tile(p.k);
        return near(floor_div(q, 4), k / 4, 2, 1) && near(floor_mod(q, 4), k % 4, 4, 3);
      },
      32);
}

TEST(Masks, BlockDiffusion) {
  for (const auto& [length, block] : {std::pair<int, int>(12, 4), {13, 3}, {13, 1}}) {
    expect_mask(
        masks::block_diffusion(length, block),
        [n = length, size = block](const Place& p) {
          const bool q_clean = p.q >= n, k_clean = p.k >= n;
          const int64_t q = floor_div(q_clean ? p.q - n : p.q, size);
          const int64_t k = (k_clean ? p.k - n : p.k) / size;
          if (q_clean) return k_clean && q >= k;
          return k_clean ? q > k : q == k;
        },
        26);
  }
}

TEST(Masks, Dense) {
  Variant v("sample");
  const auto visible = v.table<bool>("visible", {axis::batch, axis::head, axis::row, axis::key});
  const TestTable table = {{2, 4, 20, 26}, [](const auto& i) {
                             return (i[0] + 2 * i[1] + 3 * i[2] + 5 * i[3]) % 3 == 0 ? 1 : 0;
                           }};
  expect_mask(masks::dense(visible),
              [&](const Place& p) { return table({p.batch, p.head, p.row, p.k}) == 1; }, 26,
              {{"visible", table}});
}

TEST(Masks, MappedToPositionsInsideADocument) {
  Variant v("sample");
  const auto start = v.table<int>("start", {axis::batch, axis::position});
  const auto document = v.table<int>("document", {axis::batch, axis::position});
  const Mask lifted =
      masks::documents(document) &
      masks::mapped(
          masks::prefix_lm(2), [=](const Position& p) { return p.q - start(p.batch, p.q); },
          [=](const Position& p) { return p.k - start(p.batch, p.k); });
  expect_mask(lifted,
              [](const Place& p) {
                const int64_t inside = std::clamp<int64_t>(p.q, 0, 25);
                const int64_t own = document_at(p.batch, inside);
                if (own != document_at(p.batch, p.k)) return false;
                const int64_t first =
                    document_starts[static_cast<size_t>(p.batch)][static_cast<size_t>(own)];
                return p.k - first < 2 || p.q >= p.k;
              },
              26, {{"start", start_table}, {"document", document_table}});
}

TEST(Masks, AGridNeedsASizeForEveryAxis) {
  EXPECT_THROW(masks::neighborhood(row_major({4, 4}), {4, 4}, {3}), DeclarationError);
  EXPECT_THROW(masks::neighborhood(row_major({}), {}, {}), DeclarationError);
  EXPECT_THROW(tile_major({4, 4}, {2}), DeclarationError);
  EXPECT_THROW(tile_of({}, {}), DeclarationError);
  EXPECT_THROW(masks::sliding_tile({4, 4}, {2, 2}, {1}), DeclarationError);
}

}  // namespace
}  // namespace fovea
