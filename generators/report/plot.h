// plot.h: charts as SVG, made of text and paths alone. Colours come from classes of report.css.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_REPORT_PLOT_H
#define FOVEA_GENERATORS_REPORT_PLOT_H

#include <string>
#include <vector>

namespace fovea::report {

// Colour, mark and dashes of a series: neither colour nor mark alone carries a meaning.
inline constexpr int style_count = 8;

struct Point {
  double x = 0, y = 0;
  std::string text;   // shown when pointed at
  double spread = 0;  // of y, to both sides
};

struct Series {
  std::string name;
  std::vector<Point> points;  // by rising x
  int style = 0;
  bool line = true;
  std::vector<Point> path;  // what the line goes through, if not the points
};

// A limit: a line without marks, named where it ends.
struct Limit {
  std::string name;
  std::vector<Point> points;
};

struct PlotAxis {
  std::string label;  // with its unit
  bool logarithmic = false;
  std::vector<double> ticks;  // empty: chosen
  bool from_zero = false;
};

struct Plot {
  std::string title;  // for those who do not see it
  PlotAxis x, y;
  std::vector<Series> series;
  std::vector<Limit> limits;
};

std::string plot_svg(const Plot& plot);

// The mark of a style alone, for a legend.
std::string mark_svg(int style);

struct Bar {
  std::string name, value;  // "row_vectors=3", "182.2 GFLOP/s"
  double length = 0, spread = 0;
  int style = 0;
};

// Horizontal bars from zero, the longest as long as the picture; names stand above.
std::string bars_svg(const std::string& title, const std::vector<Bar>& bars);

// "0.25", "16384", "2M": short and exact enough for an axis.
std::string short_number(double value);

}  // namespace fovea::report

#endif
