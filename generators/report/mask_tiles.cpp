// mask_tiles.cpp: tiles from the cells of a mask.
// SPDX-License-Identifier: Apache-2.0
#include "generators/report/mask_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "generators/describe/call_shape.h"
#include "generators/describe/description.h"
#include "generators/describe/mask_picture.h"

namespace fovea::report {
namespace {

// So long that a mask of usual extent has tiles of every kind.
constexpr ExampleShape shape = {1, 8, 8, 2048, 2048, 64, 64};
// Cells of so few rows and keys that usual tiles consist of whole ones.
constexpr int64_t picture_cells = 256;

Cell status_of(const MaskGrid& grid, int64_t first_row, int64_t end_row, int64_t first_column,
               int64_t end_column) {
  bool visible = false, hidden = false;
  for (int64_t r = first_row; r < end_row; ++r) {
    for (int64_t c = first_column; c < end_column; ++c) {
      const Cell cell = grid.at(r, c);
      visible = visible || cell != Cell::Hidden;
      hidden = hidden || cell != Cell::Visible;
    }
  }
  return !visible ? Cell::Hidden : hidden ? Cell::Mixed : Cell::Visible;
}

const char* class_of(Cell status) {
  return status == Cell::Visible ? "full" : status == Cell::Mixed ? "partial" : "skipped";
}

}  // namespace

std::string tiles_svg(const MaskGrid& grid, int block_rows, int key_block,
                      const std::string& title) {
  // The size and margins of mask_svg, beside which it stands.
  constexpr double side = 256, top = 20, end = 6;
  const double left = 12 + 7 * static_cast<double>(std::to_string(grid.q_len - 1).size());
  const double x = side / static_cast<double>(grid.kv_len),
               y = side / static_cast<double>(grid.q_len);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n<g "
      "transform=\"translate({},{})\">\n",
      left + side + end, top + side + end, escaped(title), left, top);
  std::string edges;
  for (int64_t q = 0; q < grid.q_len; q += block_rows) {
    const int64_t q_end = std::min(q + block_rows, grid.q_len);
    const auto status = [&](int64_t k) {
      const int64_t k_end = std::min(k + key_block, grid.kv_len);
      return status_of(grid, q / grid.q_step, (q_end + grid.q_step - 1) / grid.q_step,
                       k / grid.k_step, (k_end + grid.k_step - 1) / grid.k_step);
    };
    // Neighbours of one kind are one rectangle.
    for (int64_t k = 0; k < grid.kv_len;) {
      const Cell kind = status(k);
      int64_t next = k + key_block;
      while (next < grid.kv_len && status(next) == kind) next += key_block;
      svg += fmt::format(
          "<rect class=\"tile-{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" "
          "height=\"{:.2f}\"/>\n",
          class_of(kind), static_cast<double>(k) * x, static_cast<double>(q) * y,
          static_cast<double>(std::min(next, grid.kv_len) - k) * x,
          static_cast<double>(q_end - q) * y);
      k = next;
    }
    if (q > 0) edges += fmt::format("M0 {:.2f}h{}", static_cast<double>(q) * y, side);
  }
  for (int64_t k = key_block; k < grid.kv_len; k += key_block)
    edges += fmt::format("M{:.1f} 0v{}", static_cast<double>(k) * x, side);
  return svg + fmt::format("<path class=\"tile-edges\" d=\"{}\"/>\n</g>\n</svg>\n", edges);
}

std::vector<MaskPicture> mask_pictures(const std::vector<PicturedVariant>& variants,
                                       const TargetRow& target) {
  std::vector<MaskPicture> pictures;
  for (const auto& [v, scalars] : variants) {
    const Description d =
        describe(*v, target, PictureSetting{shape, scalars}, shape, scalars, picture_cells);
    if (!d.has_mask) continue;
    const TileCounts& c = d.counts;
    std::string values;
    for (const DescribedParameter& p : d.parameters)
      values += fmt::format(", {} {}", p.declaration->name, p.example);
    std::string counts = fmt::format(
        "{} tiles of {} queries by {} keys: {:.0f} % run without mask code, {:.0f} % with it, "
        "{:.0f} % "
        "are skipped",
        c.tiles, c.block_rows, c.key_block,
        100.0 * static_cast<double>(c.full) / static_cast<double>(c.tiles),
        100.0 * static_cast<double>(c.partial) / static_cast<double>(c.tiles),
        100.0 * static_cast<double>(c.skipped) / static_cast<double>(c.tiles));
    if (!d.status.fallback.empty()) counts += "; " + d.status.fallback;
    pictures.push_back({v->name(), call_shape_text(shape) + values + ", " + target.name, counts,
                        mask_svg(d.grid, v->name() + ": which keys queries see"),
                        tiles_svg(d.grid, c.block_rows, c.key_block, v->name() + ": tiles")});
  }
  return pictures;
}

}  // namespace fovea::report
