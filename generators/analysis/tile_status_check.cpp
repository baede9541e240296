// tile_status_check.cpp: derived conditions against the mask itself, element by element.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/evaluate.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "generators/analysis/tile_status.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

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

  void set(const std::string& name, int64_t value) { set_(name, value); }
  void set(const std::string& name, std::vector<int64_t> lanes) {
    environment_.variables[name] = Lanes<double>{false, {}, std::move(lanes)};
  }
  void forget(const std::string& name) { environment_.variables.erase(name); }

  // Values of `e` with the named variable running over first … first + count - 1.
  std::vector<int64_t> evaluate_over(const Expr& e, const std::string& variable, int64_t first,
                                     int64_t count) {
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < count; ++i) lanes.push_back(first + i);
    set(variable, std::move(lanes));
    environment_.lanes = static_cast<size_t>(count);
    std::vector<int64_t> values = evaluate(e, environment_).integers;
    if (values.size() == 1) values.resize(static_cast<size_t>(count), values[0]);
    forget(variable);
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
  bool live = false, full = false, live_key = false, full_key = false;
};

// The bounds of the table entries over the rows of one tile and over the keys of each block.
void set_entry_bounds(const TileStatus& status, Trial& trial, int64_t q_first, int64_t blocks) {
  for (const TileStatus::Bound& b : status.bounds) {
    if (!b.of_keys) {
      const auto entries = trial.evaluate_over(b.entry, "q", q_first, status.block_rows);
      trial.set(b.low, *std::min_element(entries.begin(), entries.end()));
      trial.set(b.high, *std::max_element(entries.begin(), entries.end()));
      continue;
    }
    const auto entries = trial.evaluate_over(b.entry, "k", 0, blocks * status.key_block);
    std::vector<int64_t> low, high;
    for (auto at = entries.begin(); at != entries.end(); at += status.key_block) {
      low.push_back(*std::min_element(at, at + status.key_block));
      high.push_back(*std::max_element(at, at + status.key_block));
    }
    trial.set(b.low, std::move(low));
    trial.set(b.high, std::move(high));
  }
}

// Compares the conditions of one tile of query rows with the mask, over every key block.
void compare_tile(const TileStatus& status, const Expr& mask, Trial& trial, int64_t q_first,
                  Disagreement& wrong) {
  const int64_t blocks = (trial.kv_len() + status.key_block - 1) / status.key_block;
  const int64_t keys = blocks * status.key_block;
  const std::string k_block_name = TileStatus::k_block().as<ir::Variable>()->name;
  trial.set(TileStatus::q_first().as<ir::Variable>()->name, q_first);
  trial.set(TileStatus::q_offset().as<ir::Variable>()->name,
            q_first - status.block_rows * trial.draw(0, 3));
  set_entry_bounds(status, trial, q_first, blocks);
  const auto live = trial.evaluate_over(status.live, k_block_name, 0, blocks);
  const auto full = trial.evaluate_over(status.full, k_block_name, 0, blocks);
  for (const TileStatus::Bound& b : status.bounds) {
    if (b.of_keys) trial.forget(b.low), trial.forget(b.high);
  }
  const auto live_key = trial.evaluate_over(status.live_key, "k", 0, keys);
  const auto full_key = trial.evaluate_over(status.full_key, "k", 0, keys);
  const auto live_first = trial.evaluate_over(status.live_keys.first, k_block_name, 0, blocks),
             live_last = trial.evaluate_over(status.live_keys.last, k_block_name, 0, blocks),
             full_first = trial.evaluate_over(status.full_keys.first, k_block_name, 0, blocks),
             full_last = trial.evaluate_over(status.full_keys.last, k_block_name, 0, blocks);
  std::vector<char> any(static_cast<size_t>(keys), 0), all(static_cast<size_t>(keys), 1);
  for (int64_t row = 0; row < status.block_rows; ++row) {
    trial.set("q", q_first + row);
    const auto visible = trial.evaluate_over(mask, "k", 0, keys);
    for (size_t k = 0; k < visible.size(); ++k) {
      any[k] = any[k] || visible[k];
      all[k] = all[k] && visible[k];
    }
  }
  trial.forget("q");
  for (size_t k = 0; k < any.size(); ++k) {
    const size_t block = k / static_cast<size_t>(status.key_block);
    if (any[k] && !live[block]) wrong.live = true;
    const auto key = static_cast<int64_t>(k);
    const bool in_live = live_first[block] <= key && key <= live_last[block];
    const bool in_full = full_first[block] <= key && key <= full_last[block];
    if (any[k] && !(live_key[k] && in_live)) wrong.live_key = true;
    if (!all[k] && full[block]) wrong.full = true;
    if (!all[k] && (full_key[k] || in_full)) wrong.full_key = true;
  }
}

constexpr int trials = 48;

}  // namespace

TileStatus check_tile_status(TileStatus status, const Variant& variant) {
  const Expr mask = mask_by_position(variant);
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
    wrong = {true, true, true, true};
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
  fall_back(wrong.full_key, status.full_key, "full_key", false);
  const Expr first = TileStatus::k_block() * status.key_block;
  const Expr last = first + (status.key_block - 1);
  if (wrong.live_key) status.live_keys = {first, last};
  if (wrong.full_key) status.full_keys = {last + 1, last};
  return status;
}

}  // namespace fovea
