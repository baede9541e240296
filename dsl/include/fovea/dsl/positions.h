// positions.h: numbers that depend on the position, and positions read in another order.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_POSITIONS_H
#define FOVEA_DSL_POSITIONS_H

#include <fovea/dsl/position.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea {

// A constant, a scalar of the variant, or anything computed from the position:
//   masks::last_tokens(256)
//   masks::last_tokens(window)
//   masks::last_tokens([=](Position p) { return window_of(p.batch); })
class PositionValue {
 public:
  PositionValue(int value) : PositionValue(Expr(value)) {}  // NOLINT(google-explicit-constructor)
  PositionValue(Expr value)                                 // NOLINT(google-explicit-constructor)
      : value_([value = std::move(value)](const Position&) { return value; }) {}
  template <typename F,
            typename = std::enable_if_t<std::is_invocable_r_v<Expr, F, const Position&>>>
  PositionValue(F value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Expr operator()(const Position& p) const { return value_(p); }

 private:
  std::function<Expr(const Position&)> value_;
};

// x % n, n > 0, as x less the largest multiple below it. Interval analysis takes a remainder to be
// anything from 0 to n-1; of this form it sees that a few neighbouring x have neighbouring ones.
Expr remainder_of(Expr x, Expr n);

// The coordinates, slowest first, of the token at an index of a flattened grid.
using GridOrder = std::function<std::vector<Expr>(Expr index)>;

// index = (… (c0 * n1 + c1) * n2 + …): images and videos row after row. The first extent plays no
// part, so that a sequence may be longer than the grid.
GridOrder row_major(std::vector<Expr> extents);

// Tile after tile, the tokens of a tile row after row: neighbours in the grid stay near each other
// in memory, and whole blocks of keys are hidden or visible. The extents are multiples of the
// tile's. (NATTEN's and sliding-tile attention's token permutation.)
GridOrder tile_major(std::vector<Expr> extents, std::vector<Expr> tile);

// The coordinates of the tile that holds the token, in the order of tile_major.
GridOrder tile_of(std::vector<Expr> extents, std::vector<Expr> tile);

}  // namespace fovea

#endif
