// SPDX-License-Identifier: Apache-2.0
#include "heat_map.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace transliterate {
namespace {

constexpr int kCell = 44;
constexpr int kLeft = 104;  // labels of the rows and the name of their axis
constexpr int kTop = 106;   // title, name of the axis, labels of the columns
constexpr int kRight = 88;  // the scale
constexpr int kBottom = 20;
constexpr int kLabelSize = 17;
constexpr int kSmallSize = 11;
constexpr int kTinySize = 9;
constexpr int kTitleSize = 20;
constexpr double kWritten = 0.05;  // cells from this weight on show their number
constexpr double kPale = 0.5;      // text on cells from this weight on is white

template <auto function>
struct Call {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};
using Surface = std::unique_ptr<cairo_surface_t, Call<cairo_surface_destroy>>;
using Canvas = std::unique_ptr<cairo_t, Call<cairo_destroy>>;
using Layout = std::unique_ptr<PangoLayout, Call<g_object_unref>>;
using Font = std::unique_ptr<PangoFontDescription, Call<pango_font_description_free>>;

void set_colour(cairo_t* canvas, const Colour& colour) {
  cairo_set_source_rgb(canvas, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

// Where a text stands relative to the given point.
enum class Anchor { Centre, Right, Left };

void write_text(cairo_t* canvas, const std::string& text, int size, Anchor anchor, double x,
                double y, const Colour& colour) {
  const Layout layout(pango_cairo_create_layout(canvas));
  const Font font(pango_font_description_from_string("DejaVu Sans"));
  pango_font_description_set_absolute_size(font.get(), size * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), font.get());
  // The picture reads from left to right, whatever script a label begins with.
  pango_layout_set_auto_dir(layout.get(), FALSE);
  pango_layout_set_text(layout.get(), text.c_str(), -1);
  if (pango_layout_get_unknown_glyphs_count(layout.get()) > 0) {
    throw std::runtime_error("heat map: no installed font can show '" + text +
                             "'; DejaVu Sans can (Debian: fonts-dejavu-core)");
  }
  int width = 0;
  int height = 0;
  pango_layout_get_pixel_size(layout.get(), &width, &height);
  const double left = anchor == Anchor::Centre  ? x - width / 2.0
                      : anchor == Anchor::Right ? x - width
                                                : x;
  set_colour(canvas, colour);
  cairo_move_to(canvas, std::round(left), std::round(y - height / 2.0));
  pango_cairo_show_layout(canvas, layout.get());
}

constexpr Colour kInk = {40, 40, 40};
constexpr Colour kFaint = {120, 120, 120};
constexpr Colour kWhite = {255, 255, 255};

int label_size(const std::string& label) {
  if (label.size() > 6) return kTinySize;
  return label.size() > 4 ? kSmallSize : kLabelSize;
}

void draw_cell(cairo_t* canvas, double x, double y, float weight) {
  set_colour(canvas, colour_of(weight));
  cairo_rectangle(canvas, x, y, kCell - 1, kCell - 1);
  cairo_fill(canvas);
  if (!(weight >= kWritten)) return;
  std::array<char, 8> number = {};
  std::snprintf(number.data(), number.size(), "%.2f", static_cast<double>(weight));
  write_text(canvas, number.data(), kSmallSize, Anchor::Centre, x + kCell / 2.0, y + kCell / 2.0,
             weight >= kPale ? kWhite : kInk);
}

void draw_scale(cairo_t* canvas, double x, double y, double height) {
  const int steps = static_cast<int>(height);
  for (int i = 0; i < steps; ++i) {
    set_colour(canvas, colour_of(1 - static_cast<float>(i) / static_cast<float>(steps)));
    cairo_rectangle(canvas, x, y + i, 14, 1);
    cairo_fill(canvas);
  }
  set_colour(canvas, kFaint);
  cairo_set_line_width(canvas, 1);
  cairo_rectangle(canvas, x - 0.5, y - 0.5, 15, height + 1);
  cairo_stroke(canvas);
  write_text(canvas, "1", kSmallSize, Anchor::Left, x + 20, y + 4, kInk);
  write_text(canvas, "0", kSmallSize, Anchor::Left, x + 20, y + height - 5, kInk);
  write_text(canvas, "weight", kSmallSize, Anchor::Left, x - 8, y - 14, kFaint);
}

}  // namespace

Pixel pixel_of(std::size_t row, std::size_t column) {
  return {kLeft + static_cast<int>(column) * kCell + kCell / 2,
          kTop + static_cast<int>(row) * kCell + 3};
}

Colour colour_of(float weight) {
  constexpr std::array<Colour, 5> kStops = {
      {{247, 250, 253}, {189, 215, 233}, {90, 160, 206}, {22, 92, 164}, {8, 40, 96}}};
  if (std::isnan(weight)) return {220, 60, 60};
  const float at = std::clamp(weight, 0.0F, 1.0F) * static_cast<float>(kStops.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const float part = at - static_cast<float>(low);
  const auto between = [part](int a, int b) {
    return static_cast<int>(std::lround(static_cast<float>(a) + part * static_cast<float>(b - a)));
  };
  const Colour& a = kStops[low];
  const Colour& b = kStops[low + 1];
  return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

void write_heat_map(const HeatMap& map, const std::filesystem::path& file) {
  if (map.rows.empty() || map.columns.empty()) {
    throw std::runtime_error("heat map: " + std::to_string(map.rows.size()) + " rows and " +
                             std::to_string(map.columns.size()) +
                             " columns, expected at least one of each");
  }
  const int wide = static_cast<int>(map.columns.size()) * kCell;
  const int high = static_cast<int>(map.rows.size()) * kCell;
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kLeft + wide + kRight, kTop + high + kBottom));
  const Canvas canvas(cairo_create(surface.get()));
  set_colour(canvas.get(), kWhite);
  cairo_paint(canvas.get());

  // Isolated from each other, so that their scripts do not decide about the arrow.
  const std::string title = "\u2068" + map.source + "\u2069 \u2192 \u2068" + map.target + "\u2069";
  write_text(canvas.get(), title, kTitleSize, Anchor::Left, kLeft, 20, kInk);
  write_text(canvas.get(), map.note, kSmallSize, Anchor::Left, kLeft, 44, kFaint);
  write_text(canvas.get(), "source, in reading order \u2192", kSmallSize, Anchor::Left, kLeft, 62,
             kFaint);
  write_text(canvas.get(), "written \u2193", kSmallSize, Anchor::Left, 12, kTop + 8, kFaint);
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    write_text(canvas.get(), map.columns[column], label_size(map.columns[column]), Anchor::Centre,
               kLeft + (static_cast<double>(column) + 0.5) * kCell, kTop - 20, kInk);
  }
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const double y = kTop + static_cast<double>(row) * kCell;
    write_text(canvas.get(), map.rows[row], label_size(map.rows[row]), Anchor::Right, kLeft - 14,
               y + kCell / 2.0, kInk);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      draw_cell(canvas.get(), kLeft + static_cast<double>(column) * kCell, y,
                map.weights.at(row).at(column));
    }
  }
  draw_scale(canvas.get(), kLeft + wide + 24, kTop, std::min(high, 4 * kCell));

  cairo_surface_flush(surface.get());
  const cairo_status_t status = cairo_surface_write_to_png(surface.get(), file.c_str());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error("heat map: " + file.string() +
                             ": cannot be written: " + cairo_status_to_string(status));
  }
}

}  // namespace transliterate
