// grid_items.h: a lowering pass that makes one launch of many work items.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_GRID_ITEMS_H
#define FOVEA_GENERATORS_LOWERING_GRID_ITEMS_H

#include <Halide.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fovea {

// A pipeline speaks of one tile, of one head and sequence, by scalar arguments. Its output runs
// over all of them, in loops over the blocks of a GPU grid. This pass puts the indices of those
// loops in the place of the scalars: inside, each is its argument, that of the first tile, plus the
// index. What lowering has moved out of the loops because the scalars looked alike for all tiles is
// moved back. For Pipeline::add_custom_lowering_pass, before GPU code is split off.
class GridItems : public Halide::Internal::IRMutator {
 public:
  // Scalars that follow the index of each axis of the grid: x, y, z.
  using Axes = std::vector<std::vector<std::string>>;
  // Of buffers of arguments, the scalar with the element at which they begin.
  using Starts = std::map<std::string, std::string>;

  GridItems(Axes axes, Starts starts) : axes_(std::move(axes)), starts_(std::move(starts)) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::LetStmt* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::Store* op) override;
  Halide::Expr visit(const Halide::Internal::Load* op) override;
  bool follows_grid_(const Halide::Expr& e) const;

  const Axes axes_;
  const Starts starts_;
  std::vector<std::pair<std::string, Halide::Expr>>
      moved_;                                  // values that follow the grid, in order
  std::map<std::string, Halide::Expr> items_;  // scalars inside the loops
  int depth_ = 0;                              // loops over blocks around
};

}  // namespace fovea

#endif
