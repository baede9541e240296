// positions.cpp: grids flattened row after row and tile after tile.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/positions.h>

#include <string>

namespace fovea {
namespace {

void require_same_axes(const std::vector<Expr>& extents, const std::vector<Expr>& tile) {
  if (!extents.empty() && extents.size() == tile.size()) return;
  throw DeclarationError(
      "?", "grid",
      std::to_string(extents.size()) + " extents and a tile of " + std::to_string(tile.size()),
      "a tile has an extent along every axis of its grid", "list both slowest axis first");
}

std::vector<Expr> tile_counts(const std::vector<Expr>& extents, const std::vector<Expr>& tile) {
  std::vector<Expr> counts;
  for (size_t axis = 0; axis < extents.size(); ++axis) counts.push_back(extents[axis] / tile[axis]);
  return counts;
}

Expr volume(const std::vector<Expr>& extents) {
  Expr product = extents.at(0);
  for (size_t axis = 1; axis < extents.size(); ++axis) product *= extents[axis];
  return product;
}

}  // namespace

Expr remainder_of(Expr x, Expr n) { return Halide::clamp(x - x / n * n, 0, n - 1); }

GridOrder row_major(std::vector<Expr> extents) {
  return [extents = std::move(extents)](Expr index) {
    std::vector<Expr> coordinates(extents.size());
    for (size_t axis = extents.size(); axis-- > 1;) {
      coordinates[axis] = remainder_of(index, extents[axis]);
      index = index / extents[axis];
    }
    if (!coordinates.empty()) coordinates[0] = index;
    return coordinates;
  };
}

GridOrder tile_of(std::vector<Expr> extents, std::vector<Expr> tile) {
  require_same_axes(extents, tile);
  return [tiles = row_major(tile_counts(extents, tile)), size = volume(tile)](Expr index) {
    return tiles(index / size);
  };
}

GridOrder tile_major(std::vector<Expr> extents, std::vector<Expr> tile) {
  return [outer = tile_of(std::move(extents), tile), inner = row_major(tile),
          tile = tile](Expr index) {
    std::vector<Expr> coordinates = outer(index);
    const std::vector<Expr> within = inner(remainder_of(index, volume(tile)));
    for (size_t axis = 0; axis < coordinates.size(); ++axis) {
      coordinates[axis] = coordinates[axis] * tile[axis] + within[axis];
    }
    return coordinates;
  };
}

}  // namespace fovea
