// mask_picture.h: a mask as an image: keys to the right, queries downwards. Where score steps add
// a bias, visible cells are the paler the lower it is.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_MASK_PICTURE_H
#define FOVEA_GENERATORS_DESCRIBE_MASK_PICTURE_H

#include <filesystem>
#include <string>

#include "generators/describe/mask_grid.h"

namespace fovea {

// A small SVG whose colours stand out on light and on dark pages. `title` is for readers who cannot
// see it.
std::string mask_svg(const MaskGrid& grid, const std::string& title);

// Throws std::runtime_error naming the file when it cannot be written.
void write_mask_png(const MaskGrid& grid, const std::filesystem::path& file);

}  // namespace fovea

#endif
