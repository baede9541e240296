// mask_tiles.h: masks of variants with the tiles that kernels make of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_MASK_TILES_H
#define FOVEA_GENERATORS_REPORT_MASK_TILES_H

#include <fovea/dsl/variant.h>

#include <string>
#include <utility>
#include <vector>

#include "generators/describe/mask_grid.h"
#include "generators/describe/picture_setting.h"
#include "generators/report/report_page.h"
#include "generators/targets/target_table.h"

namespace fovea::report {

// Tiles of block_rows x key_block pairs, judged by the cells of the grid that they hold.
std::string tiles_svg(const MaskGrid& grid, int block_rows, int key_block,
                      const std::string& title);

// With values of some parameters; others have those of their examples.
using PicturedVariant = std::pair<const Variant*, ScalarValues>;

// Of the variants that hide anything, in a call of this target's kernels.
std::vector<MaskPicture> mask_pictures(const std::vector<PicturedVariant>& variants,
                                       const TargetRow& target);

}  // namespace fovea::report

#endif
