// tile_status.cpp: interval analysis of the mask, checked against the mask itself.
// SPDX-License-Identifier: Apache-2.0
#include "generators/analysis/tile_status.h"

#include <fmt/format.h>
#include <fovea/dsl/evaluate.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// A table entry that does not depend on q or k is one number for the whole tile. The analysis sees
// it as a variable of its own, so that a mask built from per-sequence lengths is as exact as one
// built from constants.
class HoistTileConstants : public ir::IRMutator {
 public:
  std::map<std::string, Expr> entries;

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Call* op) override {
    if (op->call_type != ir::Call::PureExtern ||
        !std::string_view(op->name).starts_with(table_prefix) || ir::expr_uses_var(op, "q") ||
        ir::expr_uses_var(op, "k")) {
      return ir::IRMutator::visit(op);
    }
    for (const auto& [name, entry] : entries) {
      if (ir::equal(entry, op)) return ir::Variable::make(op->type, name);
    }
    const std::string name = fmt::format("tile.entry_{}", entries.size());
    entries[name] = op;
    return ir::Variable::make(op->type, name);
  }
};

// Numbers for everything a mask may read, drawn anew for each trial.
class Trial {
 public:
  // Lengths up to `reach`: enough for several blocks, and near each other and the scalars.
  Trial(const Variant& variant, int64_t reach, uint32_t seed) : random_(seed) {
    kv_len_ = draw_(1, reach);
    q_len_ = draw_(1, reach);
    set_("batch", draw_(0, 3));
    set_("kv_head", draw_(0, 3));
    set_("head", draw_(0, 7));
    set_("kv_len", kv_len_);
    set_("q_len", q_len_);
    const int64_t largest_entry = draw_(0, 3) == 0 ? 1 : draw_(1, reach);
    const uint64_t salt = random_();
    environment_.table = [=](const std::string& table, const std::vector<int64_t>& indices) {
      uint64_t h = salt + std::hash<std::string>{}(table);
      for (const int64_t i : indices) h = (h ^ static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
      return static_cast<double>((h >> 33) % static_cast<uint64_t>(largest_entry + 1));
    };
    for (const auto& p : variant.parameters()) {
      if (p->kind != Parameter::Kind::Scalar) continue;
      double low = std::max(p->minimum, -300.0),
             high = std::max(low, std::min(p->maximum, low + (draw_(0, 1) ? 308.0 : 8.0)));
      // The ends of what a caller may pass: sums must not wrap there.
      if (draw_(0, 7) == 0 && std::isfinite(p->minimum)) high = low = p->minimum;
      if (draw_(0, 7) == 0 && std::isfinite(p->maximum)) low = high = p->maximum;
      if (p->type.is_int()) {
        const bool excluded = p->exclusive_minimum && low <= p->minimum;
        const int64_t first = static_cast<int64_t>(low) + (excluded ? 1 : 0);
        set_(p->name, draw_(first, std::max(first, static_cast<int64_t>(high))));
      } else {
        environment_.variables[p->name] =
            Lanes<double>::real(std::uniform_real_distribution<double>(low, high)(random_));
      }
    }
  }

  int64_t kv_len() const { return kv_len_; }
  int64_t draw(int64_t low, int64_t high) { return draw_(low, high); }

  // Values of `e` with the named variable running over first … first + count - 1, and `fixed` set.
  std::vector<int64_t> evaluate_over(const Expr& e, const std::string& variable, int64_t first,
                                     int64_t count, const std::string& fixed, int64_t fixed_value) {
    Environment<double> here = environment_;
    here.lanes = static_cast<size_t>(count);
    Lanes<double> lanes;
    for (int64_t i = 0; i < count; ++i) lanes.integers.push_back(first + i);
    here.variables[variable] = std::move(lanes);
    here.variables[fixed] = Lanes<double>::integer(fixed_value);
    std::vector<int64_t> values = evaluate(e, here).integers;
    if (values.size() == 1) values.resize(static_cast<size_t>(count), values[0]);
    return values;
  }

 private:
  int64_t draw_(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  void set_(const std::string& name, int64_t value) {
    environment_.variables[name] = Lanes<double>::integer(value);
  }

  std::mt19937 random_;
  Environment<double> environment_;
  int64_t kv_len_ = 0, q_len_ = 0;
};

struct Disagreement {
  bool live = false, full = false, live_key = false;
};

// Compares the conditions of one tile of query rows with the mask, over every key block.
void compare_tile(const TileStatus& status, const Expr& mask, Trial& trial, int64_t q_first,
                  Disagreement& wrong) {
  const int64_t blocks = (trial.kv_len() + status.key_block - 1) / status.key_block;
  const int64_t keys = blocks * status.key_block;
  const std::string q_first_name = TileStatus::q_first().as<ir::Variable>()->name;
  const std::string k_block_name = TileStatus::k_block().as<ir::Variable>()->name;
  const auto live =
      trial.evaluate_over(status.live, k_block_name, 0, blocks, q_first_name, q_first);
  const auto full =
      trial.evaluate_over(status.full, k_block_name, 0, blocks, q_first_name, q_first);
  const auto live_key = trial.evaluate_over(status.live_key, "k", 0, keys, q_first_name, q_first);
  std::vector<char> any(static_cast<size_t>(keys), 0), all(static_cast<size_t>(keys), 1);
  for (int64_t row = 0; row < status.block_rows; ++row) {
    const auto visible = trial.evaluate_over(mask, "k", 0, keys, "q", q_first + row);
    for (size_t k = 0; k < visible.size(); ++k) {
      any[k] = any[k] || visible[k];
      all[k] = all[k] && visible[k];
    }
  }
  for (size_t k = 0; k < any.size(); ++k) {
    const size_t block = k / static_cast<size_t>(status.key_block);
    if (any[k] && !live[block]) wrong.live = true;
    if (any[k] && !live_key[k]) wrong.live_key = true;
    if (!all[k] && full[block]) wrong.full = true;
  }
}

constexpr int trials = 48;

}  // namespace

// Names with a dot, which no parameter can have.
Expr TileStatus::q_first() { return ir::Variable::make(Halide::Int(32), "tile.q_first"); }
Expr TileStatus::k_block() { return ir::Variable::make(Halide::Int(32), "tile.k_block"); }

TileStatus derive_tile_status(const Variant& variant, int block_rows, int key_block) {
  TileStatus status;
  status.block_rows = block_rows;
  status.key_block = key_block;

  HoistTileConstants hoist;
  const Expr visible = ir::simplify(hoist.mutate(variant.mask()));
  const Expr hidden = ir::simplify(!visible);
  const Expr q0 = TileStatus::q_first(), k0 = TileStatus::k_block() * key_block;
  ir::Scope<ir::Interval> domain;
  domain.push("q", ir::Interval(q0, q0 + (block_rows - 1)));
  status.live_key = ir::simplify(!ir::and_condition_over_domain(hidden, domain));
  domain.push("k", ir::Interval(k0, k0 + (key_block - 1)));
  status.live = ir::simplify(!ir::and_condition_over_domain(hidden, domain));
  status.full = ir::simplify(ir::and_condition_over_domain(visible, domain));
  for (Expr* e : {&status.live, &status.full, &status.live_key})
    *e = ir::substitute(hoist.entries, *e);
  return status;
}

TileStatus check_tile_status(TileStatus status, const Variant& variant) {
  const Expr mask = variant.mask();
  const int64_t reach = 3 * std::max({130, status.block_rows, status.key_block});
  Disagreement wrong;
  try {
    for (uint32_t seed = 1; seed <= trials; ++seed) {
      Trial trial(variant, reach, seed);
      const int64_t q_first = trial.draw(0, 1) * trial.draw(-status.block_rows, reach);
      compare_tile(status, mask, trial, q_first, wrong);
    }
  } catch (const std::invalid_argument& unknown) {
    status.fallback = fmt::format("the mask cannot be checked: {}", unknown.what());
    wrong = {true, true, true};
  }
  const auto fall_back = [&](bool is_wrong, Expr& condition, const char* name, bool safe) {
    if (!is_wrong) return;
    if (status.fallback.empty())
      status.fallback = fmt::format("the derived condition '{}' disagrees with the mask", name);
    condition = safe ? ir::const_true() : ir::const_false();
  };
  fall_back(wrong.live, status.live, "live", true);
  fall_back(wrong.full, status.full, "full", false);
  fall_back(wrong.live_key, status.live_key, "live_key", true);
  return status;
}

TileStatus tile_status(const Variant& variant, int block_rows, int key_block) {
  return check_tile_status(derive_tile_status(variant, block_rows, key_block), variant);
}

}  // namespace fovea
