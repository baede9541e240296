// SPDX-License-Identifier: Apache-2.0
#include "invariance.h"

#include <fovea/dsl/evaluate.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "random.h"

namespace fovea::test {
namespace {

namespace ir = Halide::Internal;

constexpr const char* entry_of_row = "table.entry of the row";

// Reads of rows become table reads, reductions their term at one feature, extents a number: what
// the interpreter then needs is positions, scalars and tables.
class WithoutRows : public ir::IRMutator {
 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Call* op) override {
    if (op->name == row_calls::entry) {
      return ir::Call::make(op->type, entry_of_row, {mutate(op->args[0])}, ir::Call::PureExtern);
    }
    if (op->name == row_calls::size) return 64;
    if (op->name == row_calls::sum || op->name == row_calls::largest) {
      return ir::substitute(row_calls::index, Expr(7), mutate(op->args[0]));
    }
    if (std::string_view(op->name).starts_with(extent_prefix)) return 50;
    return ir::IRMutator::visit(op);
  }
};

std::vector<Expr> without_rows(std::vector<Expr> parts) {
  std::vector<Expr> result;
  for (const Expr& e : parts) {
    if (e.defined()) result.push_back(WithoutRows().mutate(ir::substitute_in_all_lets(e)));
  }
  return result;
}

std::vector<Expr> transforms_of_values(const Variant& v) {
  std::vector<Expr> parts = v.value_steps();
  parts.insert(parts.end(), v.output_steps().begin(), v.output_steps().end());
  parts.push_back(v.combination());
  return parts;
}

std::vector<Expr> parts_of(const Variant& v) {
  std::vector<Expr> parts = transforms_of_values(v);
  for (const auto* steps : {&v.query_steps(), &v.key_steps()})
    parts.insert(parts.end(), steps->begin(), steps->end());
  for (const Expr& e :
       {v.score_chain(), v.mask(), v.sink_logit(), v.weight(), v.divisor(), v.weight_factor()})
    parts.push_back(e);
  return parts;
}

// Numbers for everything a part may contain.
class Point {
 public:
  Point(const Variant& variant, Random& random) : variant_(variant), seed_(random.bits()) {
    for (const char* name : {"batch", "head", "kv_head"}) positions_[name] = random.integer(0, 5);
    for (const char* name : {"q", "k", "row"}) positions_[name] = random.integer(0, 60);
    for (const char* name : {"q_len", "kv_len"}) positions_[name] = random.integer(1, 80);
    positions_["d"] = random.integer(0, 63);
    for (const char* name : {"score", "sum"}) reals_[name] = random.real(0.1, 3);
    for (int i = 0; i < variant.slice_count(); ++i) {
      reals_[Variant::symbolic_slice(i).as<ir::Variable>()->name] = random.real(-2, 2);
    }
    for (const auto& p : variant.parameters()) {
      if (p->kind != Parameter::Kind::Scalar) continue;
      const double low = std::max(p->minimum, -3.0) + (p->exclusive_minimum ? 1 : 0);
      // Integers may be positions.
      const double reach = p->type.is_int() && random.chance(0.5) ? 70 : 20;
      const double high = std::max(low, std::min(p->maximum, low + reach));
      if (p->type.is_float()) {
        reals_[p->name] = random.real(low, high);
      } else {
        positions_[p->name] =
            random.integer(static_cast<int64_t>(std::ceil(low)), static_cast<int64_t>(high));
      }
    }
  }

  void move(const std::set<std::string>& names, int64_t by) {
    moved_ = names;
    by_ = by;
  }
  void double_values() {
    factor_ = 2;
    for (int i = 0; i < variant_.slice_count(); ++i) {
      reals_[Variant::symbolic_slice(i).as<ir::Variable>()->name] *= 2;
    }
  }
  // An index into a moving axis was something else than the position itself: at the ends of the
  // table it is clamped, which does not move.
  bool is_irregular() const { return irregular_; }

  std::vector<double> values(const std::vector<Expr>& parts) {
    Environment<double> environment;
    for (const auto& [name, number] : positions_) {
      const int64_t shift = moved_.count(name) != 0 ? by_ : 0;
      environment.variables[name] = Lanes<double>::integer(number + shift);
    }
    for (const auto& [name, number] : reals_) {
      environment.variables[name] = Lanes<double>::real(number);
    }
    environment.table = [this](const std::string& name, const std::vector<int64_t>& indices) {
      return entry_(name, indices);
    };
    std::vector<double> numbers;
    for (const Expr& e : parts) {
      const Lanes<double> result = evaluate(e, environment);
      numbers.push_back(result.is_real ? result.reals.at(0)
                                       : static_cast<double>(result.integers.at(0)));
    }
    return numbers;
  }

 private:
  // The position that an axis runs over; empty: none.
  static const char* position_of(Axis::Kind kind) {
    switch (kind) {
      case Axis::Kind::Batch:
        return "batch";
      case Axis::Kind::Head:
        return "head";
      case Axis::Kind::KvHead:
        return "kv_head";
      case Axis::Kind::Query:
        return "q";
      case Axis::Kind::Key:
        return "k";
      case Axis::Kind::Row:
        return "row";
      default:
        return "";
    }
  }

  double entry_(const std::string& name, std::vector<int64_t> indices) {
    const Parameter* parameter = variant_.find_parameter(name);
    for (size_t axis = 0; parameter != nullptr && axis < indices.size(); ++axis) {
      const Axis::Kind kind = parameter->axes[axis].kind;
      if (kind == Axis::Kind::Position) {
        if (moved_.count("q") != moved_.count("k")) irregular_ = true;
        if (moved_.count("q") == 0) continue;
        indices[axis] -= by_;
        if (indices[axis] != positions_["q"] && indices[axis] != positions_["k"]) irregular_ = true;
      } else if (moved_.count(position_of(kind)) != 0) {
        indices[axis] -= by_;
        if (indices[axis] != positions_[position_of(kind)]) irregular_ = true;
      }
    }
    uint64_t number = 0;
    for (const int64_t i : indices) number = number * 1000003 + static_cast<uint64_t>(i);
    Random random(name, number ^ seed_);
    if (parameter == nullptr) return factor_ * random.real(-2, 2);
    if (parameter->type.is_float()) return random.real(-2, 2);
    if (parameter->type.bits() == 8) return static_cast<double>(random.integer(0, 1));
    // Numbers of documents, and positions.
    return static_cast<double>(random.integer(0, random.chance(0.5) ? 3 : 60));
  }

  const Variant& variant_;
  uint64_t seed_;
  std::map<std::string, int64_t> positions_;
  std::map<std::string, double> reals_;
  std::set<std::string> moved_;
  int64_t by_ = 0;
  double factor_ = 1;
  bool irregular_ = false;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr int points = 400;

class Names : public ir::IRGraphVisitor {
 public:
  std::set<std::string> names;
  bool reads_table = false;

 private:
  using ir::IRGraphVisitor::visit;
  void visit(const ir::Variable* op) override { names.insert(op->name); }
  void visit(const ir::Call* op) override {
    const std::string_view name = op->name;
    reads_table = reads_table || (name.starts_with(table_prefix) && name != entry_of_row);
    ir::IRGraphVisitor::visit(op);
  }
};

// Without one of the positions and without a table, it cannot change.
bool may_change(const Expr& e, const std::set<std::string>& positions) {
  Names found;
  e.accept(&found);
  return found.reads_table || std::any_of(positions.begin(), positions.end(),
                                          [&](const auto& p) { return found.names.count(p) != 0; });
}

class Extremes : public ir::IRGraphVisitor {
 public:
  bool found = false;

 private:
  using ir::IRGraphVisitor::visit;
  void visit(const ir::Min* op) override {
    found = found || op->type.is_float();
    ir::IRGraphVisitor::visit(op);
  }
  void visit(const ir::Max* op) override {
    found = found || op->type.is_float();
    ir::IRGraphVisitor::visit(op);
  }
  void visit(const ir::Call* op) override {
    found = found || op->name == row_calls::largest;
    ir::IRGraphVisitor::visit(op);
  }
};

}  // namespace

bool stays_when_moving(const Variant& variant, const std::set<std::string>& positions) {
  std::vector<Expr> parts = without_rows(parts_of(variant));
  std::erase_if(parts, [&](const Expr& e) { return !may_change(e, positions); });
  if (parts.empty()) return true;
  Random random("moving " + variant.name(), positions.size());
  for (int i = 0; i < points; ++i) {
    Point here(variant, random);
    Point there = here;
    there.move(positions, random.integer(1, 40));
    const std::vector<double> before = here.values(parts), after = there.values(parts);
    if (!std::equal(before.begin(), before.end(), after.begin(), same) || there.is_irregular())
      return false;
  }
  return true;
}

bool is_proportional_to_values(const Variant& variant) {
  const std::vector<Expr> parts = without_rows(transforms_of_values(variant));
  Random random("doubling " + variant.name(), 0);
  for (int i = 0; i < points; ++i) {
    Point once(variant, random);
    Point twice = once;
    twice.double_values();
    const std::vector<double> before = once.values(parts), after = twice.values(parts);
    const auto is_twice = [](double number, double doubled) { return same(2 * number, doubled); };
    if (!std::equal(before.begin(), before.end(), after.begin(), is_twice)) return false;
  }
  return true;
}

bool is_masked_softmax(const Variant& v) {
  return v.normalizer() == Normalizer::Kind::Softmax && v.score_steps().empty() &&
         v.query_steps().empty() && v.key_steps().empty() && v.value_steps().empty() &&
         v.output_steps().empty() && !v.sink_logit().defined() && !v.weight_factor().defined() &&
         v.slice_count() == 1;
}

bool mentions(const Variant& variant, const std::string& position) {
  Names found;
  for (const Expr& e : parts_of(variant)) {
    if (e.defined()) e.accept(&found);
  }
  return found.names.count(position) != 0;
}

bool may_drop_nan_of_rows(const Variant& variant) {
  Extremes extremes;
  for (const Expr& e : transforms_of_values(variant)) {
    if (e.defined()) e.accept(&extremes);
  }
  for (const auto* steps : {&variant.query_steps(), &variant.key_steps()}) {
    for (const Expr& e : *steps) e.accept(&extremes);
  }
  return extremes.found;
}

bool may_drop_nan(const Variant& variant) {
  Extremes extremes;
  for (const Expr& e : parts_of(variant)) {
    if (e.defined()) e.accept(&extremes);
  }
  return extremes.found;
}

}  // namespace fovea::test
