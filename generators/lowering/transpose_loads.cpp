// transpose_loads.cpp: finds the gathers, loads rows, shuffles.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/transpose_loads.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generators/lowering/plain_index.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using ir::Stmt;

bool is_square_side(int lanes) { return lanes == 4 || lanes == 8 || lanes == 16; }

// Lane `i` of a vector expression, where that is plain to see.
Expr lane_of(const Expr& e, int i) {
  if (e.type().is_scalar()) return e;
  if (const auto* r = e.as<ir::Ramp>()) {
    if (r->base.type().is_scalar()) return ir::simplify(r->base + r->stride * i);
  }
  if (const auto* b = e.as<ir::Broadcast>()) {
    if (b->value.type().is_scalar()) return b->value;
  }
  const auto binary = [&](const auto* op, auto make) {
    return make(lane_of(op->a, i), lane_of(op->b, i));
  };
  if (const auto* op = e.as<ir::Add>()) return binary(op, ir::Add::make);
  if (const auto* op = e.as<ir::Sub>()) return binary(op, ir::Sub::make);
  if (const auto* op = e.as<ir::Mul>()) return binary(op, ir::Mul::make);
  if (const auto* op = e.as<ir::Min>()) return binary(op, ir::Min::make);
  if (const auto* op = e.as<ir::Max>()) return binary(op, ir::Max::make);
  if (const auto* op = e.as<ir::Cast>()) {
    return ir::Cast::make(op->type.element_of(), lane_of(op->value, i));
  }
  return ir::Shuffle::make_extract_element(e, i);
}

class FindStores : public ir::IRVisitor {
 public:
  std::set<std::string> stored;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Store* op) override {
    stored.insert(op->name);
    ir::IRVisitor::visit(op);
  }
};

// Gathers of one scope. Does not look into nested loops; into conditional code only for what is
// always there to be read.
class FindGathers : public ir::IRVisitor {
 public:
  explicit FindGathers(const std::set<std::string>& allocated) : allocated_(allocated) {}

  std::vector<const ir::Load*> gathers;
  // What names stand for inside the scope; an index that is moved up cannot use them.
  std::map<std::string, Expr> bound;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::For*) override {}
  void visit(const ir::Allocate*) override {}
  void visit(const ir::IfThenElse* op) override {
    ++conditions_;
    ir::IRVisitor::visit(op);
    --conditions_;
  }
  void visit(const ir::LetStmt* op) override {
    bound[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Let* op) override {
    bound[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Load* op) override {
    const auto* ramp = op->index.as<ir::Ramp>();
    const bool dense = ramp && ir::is_const_one(ramp->stride);
    const bool broadcast = op->index.as<ir::Broadcast>() != nullptr;
    const bool always = conditions_ == 0 || allocated_.count(op->name) != 0;
    if (is_square_side(op->type.lanes()) && !dense && !broadcast && always &&
        ir::is_const_one(op->predicate)) {
      gathers.push_back(op);
    }
    ir::IRVisitor::visit(op);
  }

  const std::set<std::string>& allocated_;
  int conditions_ = 0;
};

// How far apart two plain indices are, if by a constant.
std::optional<int64_t> distance(const Expr& from, const Expr& to) {
  const Expr difference = ir::simplify(to - from);
  const auto* broadcast = difference.as<ir::Broadcast>();
  if (const auto constant = ir::as_const_int(broadcast ? broadcast->value : difference))
    return *constant;
  return std::nullopt;
}

// The columns of a square of `n` rows, each a row of n elements: pairs of rows are interleaved
// twice, which transposes their 128-bit parts, then those parts are put together.
class Transpose {
 public:
  explicit Transpose(std::vector<Expr> rows)
      : n_(static_cast<int>(rows.size())), v_(std::move(rows)) {}

  // Names for all intermediate vectors, in the order of their use, and the columns.
  std::vector<std::pair<std::string, Expr>> lets;
  std::vector<Expr> columns() {
    for (Expr& e : v_) e = named_(e);
    interleave_(1);
    interleave_(2);
    for (int parts = n_ / 4; parts > 1; parts /= 2) join_parts_();
    return v_;
  }

 private:
  Expr named_(const Expr& e) {
    const std::string name = ir::unique_name("transposed");
    lets.emplace_back(name, e);
    return ir::Variable::make(e.type(), name);
  }
  Expr shuffled_(const Expr& a, const Expr& b, const std::vector<int>& indices) {
    return named_(ir::Shuffle::make({a, b}, indices));
  }

  // Within 128 bits: elements of `width` lanes of two vectors in turn, low halves and high halves.
  void interleave_(int width) {
    std::vector<Expr> next(v_.size());
    for (int group = 0; group < n_; group += 4) {
      for (int i = 0; i < 2; ++i) {
        // Rows 0 1 and 2 3, then their low parts and their high parts.
        const int a = group + (width == 1 ? 2 * i : i), b = width == 1 ? a + 1 : a + 2;
        for (int half = 0; half < 2; ++half) {
          std::vector<int> indices;
          for (int lane = 0; lane < n_; ++lane) {
            const int within = lane % 4, element = within / width;
            const int source = element % 2;  // a or b
            indices.push_back(source * n_ + lane - within + half * 2 + (element / 2) * width +
                              within % width);
          }
          next[static_cast<size_t>(group + 2 * i + half)] =
              shuffled_(v_[static_cast<size_t>(a)], v_[static_cast<size_t>(b)], indices);
        }
      }
    }
    v_ = std::move(next);
  }

  // Vector g * 4 + c holds columns c, c + 4, … of rows 4 g … 4 g + 3, 128 bits each: even parts of
  // two groups together, then odd ones.
  void join_parts_() {
    const int parts = n_ / 4, groups = static_cast<int>(v_.size()) / 4 / blocks_;
    std::vector<Expr> next;
    std::vector<int> even, odd;
    for (int part = 0; part < parts; ++part) {
      for (int lane = 0; lane < 4; ++lane) {
        even.push_back(2 * part * 4 + lane);
        odd.push_back((2 * part + 1) * 4 + lane);
      }
    }
    // First the sets of even parts, then those of odd ones; each again a list of groups.
    for (const std::vector<int>& indices : {even, odd}) {
      for (int block = 0; block < blocks_; ++block) {
        for (int g = 0; g < groups; g += 2) {
          for (int c = 0; c < 4; ++c) {
            const auto at = [&](int group) {
              return v_[static_cast<size_t>((block * groups + group) * 4 + c)];
            };
            next.push_back(shuffled_(at(g), at(g + 1), indices));
          }
        }
      }
    }
    blocks_ *= 2;
    v_ = std::move(next);
  }

  int n_;
  int blocks_ = 1;
  std::vector<Expr> v_;
};

class ReplaceLoads : public ir::IRMutator {
 public:
  std::map<const ir::Load*, Expr> columns;

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Load* op) override {
    const auto column = columns.find(op);
    return column != columns.end() ? column->second : ir::IRMutator::visit(op);
  }
};

// Gathers from one buffer whose indices differ by constants.
struct Family {
  const ir::Load* first;
  Expr index;                                          // of `first`, plain
  std::map<int64_t, std::vector<const ir::Load*>> at;  // offset -> loads
};

std::vector<Family> families_of(const FindGathers& found, const std::set<std::string>& stored) {
  std::vector<Family> families;
  for (const ir::Load* load : found.gathers) {
    // What is stored in this scope, be it in a loop, may be stored before it is read.
    if (load->type.bits() > 32 || stored.count(load->name) != 0) continue;
    const Expr index = plain_index(load->index, found.bound);
    bool member = false;
    for (Family& f : families) {
      if (f.first->name != load->name || f.first->type != load->type ||
          f.index.type() != index.type())
        continue;
      if (const auto offset = distance(f.index, index)) {
        f.at[*offset].push_back(load);
        member = true;
        break;
      }
    }
    if (!member) families.push_back({load, index, {{0, {load}}}});
  }
  return families;
}

// Row `i` of the square: the elements that lane `i` of the gathers reads, as 32-bit lanes.
Expr row_of_square(const Family& family, int64_t offset, int i) {
  const ir::Load& first = *family.first;
  const int n = first.type.lanes();
  const Expr base =
      lane_of(family.index, i) + ir::make_const(family.index.type().element_of(), offset);
  const Expr index = ir::Ramp::make(base, ir::make_one(base.type()), n);
  const Expr row = ir::Load::make(first.type, first.name, index, first.image, first.param,
                                  ir::const_true(n), ir::ModulusRemainder());
  const int bits = first.type.bits();
  return bits == 32 ? row
                    : ir::Cast::make(Halide::UInt(32, n),
                                     ir::Reinterpret::make(Halide::UInt(bits, n), row));
}

Expr column_of_square(const Expr& column, const Halide::Type& type) {
  if (type.bits() == 32) return column;
  return ir::Reinterpret::make(type,
                               ir::Cast::make(Halide::UInt(type.bits(), type.lanes()), column));
}

Stmt transpose_scope(const Stmt& scope, const std::set<std::string>& allocated) {
  if (const auto* let = scope.as<ir::LetStmt>()) {
    return ir::LetStmt::make(let->name, let->value, transpose_scope(let->body, allocated));
  }
  FindGathers found(allocated);
  scope.accept(&found);
  FindStores stores;
  scope.accept(&stores);
  ReplaceLoads replace;
  std::vector<std::pair<std::string, Expr>> lets;
  for (const Family& f : families_of(found, stores.stored)) {
    const int n = f.first->type.lanes();
    for (auto run = f.at.begin(); run != f.at.end();) {
      auto end = run;
      int length = 0;
      while (length < n && end != f.at.end() && end->first == run->first + length) ++length, ++end;
      if (length == n) {
        std::vector<Expr> rows;
        for (int i = 0; i < n; ++i) rows.push_back(row_of_square(f, run->first, i));
        Transpose transpose(std::move(rows));
        const std::vector<Expr> columns = transpose.columns();
        lets.insert(lets.end(), transpose.lets.begin(), transpose.lets.end());
        size_t i = 0;
        for (; run != end; ++run, ++i) {
          for (const ir::Load* load : run->second)
            replace.columns[load] = column_of_square(columns[i], load->type);
        }
      }
      run = end;
    }
  }
  if (lets.empty()) return scope;
  Stmt result = replace.mutate(scope);
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    result = ir::LetStmt::make(let->first, let->second, result);
  return result;
}

}  // namespace

Stmt TransposeLoads::visit(const ir::For* op) {
  const Stmt body = transpose_scope(mutate(op->body), allocated_);
  return ir::For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                       op->device_api, body);
}

Stmt TransposeLoads::visit(const ir::Allocate* op) {
  allocated_.insert(op->name);
  const Stmt body = transpose_scope(mutate(op->body), allocated_);
  return ir::Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body,
                            op->new_expr, op->free_function, op->padding);
}

}  // namespace fovea
