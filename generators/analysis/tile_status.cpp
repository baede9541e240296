// tile_status.cpp: interval analysis of the mask.
// SPDX-License-Identifier: Apache-2.0
#include "generators/analysis/tile_status.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {
namespace {

namespace ir = Halide::Internal;

bool is_table_read(const ir::Call* op) {
  return op->call_type == ir::Call::PureExtern &&
         std::string_view(op->name).starts_with(table_prefix);
}

// Table entries become variables, about whose range the analysis is told what can be known:
//   an entry that depends on neither q nor k   one number for the whole tile
//   on one of them                             bounds over the rows of the tile, or the keys of a
//                                              block, which the kernel finds out first
//   on both                                    the few entries that a block can reach, if they are
//                                              few (a map of blocks no smaller than the tile)
// So a mask built from lengths, segment ids, intervals or block lists is as exact as its data.
class NameTableEntries : public ir::IRMutator {
 public:
  struct Entry {
    std::string name;
    Expr read;
    bool of_query = false, of_key = false;
  };
  std::vector<Entry> entries;

 private:
  using ir::IRMutator::visit;

  // Int(32), whatever the table holds.
  Expr name_(const ir::Call* op) {
    for (const Entry& e : entries) {
      if (ir::equal(e.read, op)) return variable_(e.name);
    }
    entries.push_back({fmt::format("tile.entry_{}", entries.size()), op, ir::expr_uses_var(op, "q"),
                       ir::expr_uses_var(op, "k")});
    return variable_(entries.back().name);
  }
  static Expr variable_(const std::string& name) {
    return ir::Variable::make(Halide::Int(32), name);
  }

  Expr visit(const ir::Call* op) override {
    if (!is_table_read(op) || op->type != Halide::Int(32)) return ir::IRMutator::visit(op);
    return name_(op);
  }
  // How a table of bool is read.
  Expr visit(const ir::NE* op) override {
    const ir::Call* call = op->a.as<ir::Call>();
    if (call && is_table_read(call) && call->type == Halide::UInt(8) && ir::is_const_zero(op->b)) {
      return name_(call) != 0;
    }
    return ir::IRMutator::visit(op);
  }
};

// x == y and x != y as comparisons, which interval analysis follows for ranges too.
class OrderedComparisons : public ir::IRMutator {
  using ir::IRMutator::visit;
  Expr visit(const ir::EQ* op) override {
    if (!op->a.type().is_int()) return ir::IRMutator::visit(op);
    const Expr a = mutate(op->a), b = mutate(op->b);
    return a <= b && b <= a;
  }
  Expr visit(const ir::NE* op) override {
    if (!op->a.type().is_int()) return ir::IRMutator::visit(op);
    const Expr a = mutate(op->a), b = mutate(op->b);
    return a < b || b < a;
  }
};

// What the declared ranges of the integer scalars say.
ir::Scope<ir::Interval> scalar_ranges(const Variant& variant) {
  ir::Scope<ir::Interval> ranges;
  for (const auto& p : variant.parameters()) {
    if (p->kind != Parameter::Kind::Scalar || !p->type.is_int()) continue;
    const int low = static_cast<int>(p->minimum) + (p->exclusive_minimum ? 1 : 0);
    ranges.push(p->name, ir::Interval(low, static_cast<int>(p->maximum)));
  }
  return ranges;
}

// Least and largest of the entries that indices within `domain` can reach; any number where they
// may be more than two along an axis.
ir::Interval reachable_entries(const Expr& read, const ir::Scope<ir::Interval>& domain,
                               const ir::Scope<ir::Interval>& ranges) {
  const auto* call = read.as<ir::Call>();
  std::vector<std::vector<Expr>> samples = {{}};
  Expr few = ir::const_true();
  for (const Expr& index : call->args) {
    const ir::Interval i = ir::bounds_of_expr_in_scope(index, domain);
    if (!i.is_bounded()) return ir::Interval::everything();
    const Expr min = ir::simplify(i.min, true, ranges), max = ir::simplify(i.max, true, ranges);
    std::vector<Expr> ends = {min};
    if (!ir::can_prove(min == max)) {
      ends.push_back(max);
      few = ir::simplify(few && max - min <= 1);
      if (ir::is_const_zero(few)) return ir::Interval::everything();
    }
    std::vector<std::vector<Expr>> longer;
    for (const auto& sample : samples) {
      for (const Expr& end : ends) {
        longer.push_back(sample);
        longer.back().push_back(end);
      }
    }
    samples = std::move(longer);
  }
  Expr low, high;
  for (const auto& sample : samples) {
    const Expr entry =
        Halide::cast<int32_t>(ir::Call::make(call->type, call->name, sample, ir::Call::PureExtern));
    low = low.defined() ? Halide::min(low, entry) : entry;
    high = high.defined() ? Halide::max(high, entry) : entry;
  }
  if (ir::is_const_one(few)) return {low, high};
  return {Halide::select(few, low, -largest_integer), Halide::select(few, high, largest_integer)};
}

}  // namespace

// Names with a dot, which no parameter can have.
Expr TileStatus::q_first() { return ir::Variable::make(Halide::Int(32), "tile.q_first"); }
Expr TileStatus::q_offset() { return ir::Variable::make(Halide::Int(32), "tile.q_offset"); }
Expr TileStatus::k_block() { return ir::Variable::make(Halide::Int(32), "tile.k_block"); }

Expr mask_by_position(const Variant& variant) {
  const Expr row = ir::Variable::make(Halide::Int(32), "q") - TileStatus::q_offset();
  return ir::substitute("row", row, ir::substitute_in_all_lets(variant.mask()));
}

TileStatus derive_tile_status(const Variant& variant, int block_rows, int key_block) {
  TileStatus status;
  status.block_rows = block_rows;
  status.key_block = key_block;

  NameTableEntries name;
  const Expr mask = ir::simplify(name.mutate(mask_by_position(variant)));
  const ir::Scope<ir::Interval> ranges = scalar_ranges(variant);
  const auto conditions = [&](const Expr& e) {
    return name.entries.empty() ? ir::simplify(e) : ir::simplify(OrderedComparisons().mutate(e));
  };
  const Expr visible = conditions(mask), hidden = conditions(ir::simplify(!mask));

  const Expr q0 = TileStatus::q_first(), k0 = TileStatus::k_block() * key_block;
  ir::Scope<ir::Interval> rows, tile;
  rows.push("q", ir::Interval(q0, q0 + (block_rows - 1)));
  tile.push("q", ir::Interval(q0, q0 + (block_rows - 1)));
  tile.push("k", ir::Interval(k0, k0 + (key_block - 1)));

  std::map<std::string, Expr> reads;  // what to put back for the names
  for (const auto& e : name.entries) {
    if (!e.of_query && !e.of_key) {
      reads[e.name] = Halide::cast<int32_t>(e.read);
      continue;
    }
    if (e.of_query && e.of_key) {
      const ir::Interval reach = reachable_entries(e.read, tile, ranges);
      if (!reach.is_bounded()) {
        tile.push(e.name, ir::Interval::everything());
      } else {
        // By name, so that the analysis does not look into them.
        const Expr low = ir::Variable::make(Halide::Int(32), e.name + ".low"),
                   high = ir::Variable::make(Halide::Int(32), e.name + ".high");
        tile.push(e.name, {low, high});
        reads[e.name + ".low"] = reach.min;
        reads[e.name + ".high"] = reach.max;
      }
      rows.push(e.name, ir::Interval::everything());
      continue;
    }
    const TileStatus::Bound bound{e.name + ".low", e.name + ".high", e.read, e.of_key};
    const ir::Interval range(ir::Variable::make(Halide::Int(32), bound.low),
                             ir::Variable::make(Halide::Int(32), bound.high));
    tile.push(e.name, range);
    rows.push(e.name, e.of_key ? ir::Interval::everything() : range);
    status.bounds.push_back(bound);
  }

  status.live_key = ir::simplify(!ir::and_condition_over_domain(hidden, rows), true, ranges);
  status.full_key = ir::simplify(ir::and_condition_over_domain(visible, rows), true, ranges);
  status.live = ir::simplify(!ir::and_condition_over_domain(hidden, tile), true, ranges);
  status.full = ir::simplify(ir::and_condition_over_domain(visible, tile), true, ranges);
  for (Expr* e : {&status.live, &status.full, &status.live_key, &status.full_key})
    *e = ir::substitute(reads, *e);
  const KeyRange block{k0, k0 + (key_block - 1)};
  status.live_keys = outer_key_range(status.live_key, block);
  status.full_keys = inner_key_range(status.full_key, block);
  // Bounds that the conditions do not ask for need not be found out.
  std::erase_if(status.bounds, [&](const TileStatus::Bound& b) {
    for (const Expr& e : {status.live, status.full, status.live_key, status.full_key}) {
      if (ir::expr_uses_var(e, b.low) || ir::expr_uses_var(e, b.high)) return false;
    }
    return true;
  });
  return status;
}

TileStatus tile_status(const Variant& variant, int block_rows, int key_block) {
  return check_tile_status(derive_tile_status(variant, block_rows, key_block), variant);
}

}  // namespace fovea
