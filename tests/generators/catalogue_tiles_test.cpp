// catalogue_tiles_test.cpp: which key blocks each shipped variant visits with its example values,
// against the mask element by element.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/example.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "generators/analysis/tile_status.h"

namespace fovea {
namespace {

constexpr int64_t length = 1024;
constexpr int block_rows = 64, key_block = 64;

double entry_of(const fovea_table& table, Halide::Type type, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    at += std::clamp<int64_t>(index[axis], 0, table.extent[axis] - 1) * table.stride[axis];
  }
  if (type.is_float()) return static_cast<double>(static_cast<const float*>(table.data)[at]);
  if (type.is_uint()) return static_cast<double>(static_cast<const uint8_t*>(table.data)[at]);
  return static_cast<double>(static_cast<const int32_t*>(table.data)[at]);
}

struct Counts {
  int visited = 0, needed = 0, full = 0, really_full = 0;
  bool sound = true;
};

// Every tile of one head of a call as long as wide.
class Tiles {
 public:
  explicit Tiles(const Variant& variant)
      : variant_(variant),
        example_(variant, {.heads = 2, .q_len = length, .kv_len = length}),
        status_(tile_status(variant, block_rows, key_block)) {
    for (const auto& p : variant.parameters()) {
      if (p->kind != Parameter::Kind::Scalar) continue;
      const double value = example_.values().at(p->name).scalar;
      environment_.variables[p->name] = p->type.is_float()
                                            ? Lanes<double>::real(value)
                                            : Lanes<double>::integer(static_cast<int64_t>(value));
    }
    environment_.table = [this](const std::string& name, const std::vector<int64_t>& index) {
      return entry_of(example_.values().at(name).table, variant_.find_parameter(name)->type, index);
    };
    for (const char* name : {"batch", "kv_head"}) set_(name, 0);
    set_("head", 1);
    set_("kv_len", length);
    set_("q_len", length);
    set_(name_of_(TileStatus::q_offset()), 0);
  }

  const TileStatus& status() const { return status_; }

  Counts count() {
    Counts c;
    for (int64_t q = 0; q < length; q += block_rows) {
      for (int64_t k = 0; k < length; k += key_block) tile_(q, k, c);
    }
    return c;
  }

 private:
  void tile_(int64_t q, int64_t k, Counts& c) {
    environment_.lanes = 1;
    for (const TileStatus::Bound& bound : status_.bounds) bound_(bound, q, k);
    set_(name_of_(TileStatus::q_first()), q);
    set_(name_of_(TileStatus::k_block()), k / key_block);
    const bool live = evaluate(status_.live, environment_).integers[0] != 0;
    const bool full = evaluate(status_.full, environment_).integers[0] != 0;
    bool any = false, all = true;
    Lanes<double> keys;
    for (int64_t j = k; j < k + key_block; ++j) keys.integers.push_back(j);
    environment_.lanes = key_block;
    environment_.variables["k"] = keys;
    for (int64_t i = q; i < q + block_rows; ++i) {
      set_("q", i);
      set_("row", i);
      for (const int64_t visible : evaluate(variant_.mask(), environment_).integers) {
        any = any || visible != 0;
        all = all && visible != 0;
      }
    }
    c.visited += live;
    c.needed += any;
    c.full += full;
    c.really_full += all;
    c.sound = c.sound && (live || !any) && (!full || all);
  }

  void bound_(const TileStatus::Bound& bound, int64_t q, int64_t k) {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
    for (int64_t i = 0; i < (bound.of_keys ? key_block : block_rows); ++i) {
      set_(bound.of_keys ? "k" : "q", (bound.of_keys ? k : q) + i);
      const int64_t value = evaluate(bound.entry, environment_).integers[0];
      low = std::min(low, value);
      high = std::max(high, value);
    }
    set_(bound.low, low);
    set_(bound.high, high);
  }

  static std::string name_of_(const Expr& variable) {
    return variable.as<Halide::Internal::Variable>()->name;
  }
  void set_(const std::string& name, int64_t value) {
    environment_.variables[name] = Lanes<double>::integer(value);
  }

  const Variant& variant_;
  ExampleParameters example_;
  TileStatus status_;
  Environment<double> environment_;
};

TEST(CatalogueTiles, AreSoundAndExact) {
  // Blocks visited without need: a tensor says nothing of a block before it is read, and a block of
  // keys that runs over the end of a row of the grid is taken for one that holds every column.
  const std::set<std::string> visits_more = {"dense_mask", "neighborhood_3d", "tree"};
  // Whole blocks not known as such: partly among the first tokens, for the rest inside the window.
  const std::set<std::string> knows_less = {"streaming_llm"};
  for (const Variant& v : declared_variants()) {
    Tiles tiles(v);
    SCOPED_TRACE(v.name());
    EXPECT_EQ(tiles.status().fallback, "");
    const Counts c = tiles.count();
    EXPECT_TRUE(c.sound);
    EXPECT_GT(c.needed, 0);
    EXPECT_EQ(c.visited != c.needed, visits_more.count(v.name()) != 0)
        << c.visited << " blocks visited, " << c.needed << " needed";
    EXPECT_EQ(c.full != c.really_full, knows_less.count(v.name()) != 0)
        << c.full << " blocks known as whole of " << c.really_full;
  }
}

}  // namespace
}  // namespace fovea
