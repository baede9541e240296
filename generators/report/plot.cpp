// plot.cpp: scales, ticks, marks.
// SPDX-License-Identifier: Apache-2.0
#include "generators/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "generators/report/page_template.h"

namespace fovea::report {
namespace {

// In units of the drawing, which is shown at this width or less.
constexpr double width = 560, height = 370;
constexpr double left = 58, right = 16, top = 22, bottom = 48;
constexpr double mark_size = 5;
constexpr int most_ticks = 8;

class Scale {
 public:
  Scale(const PlotAxis& axis, double least, double largest, double from, double to)
      : logarithmic_(axis.logarithmic), from_(from), to_(to) {
    if (logarithmic_) {
      least_ = std::log2(least) - 0.25;
      largest_ = std::log2(largest) + 0.25;
    } else {
      const double room = 0.06 * (largest - least);
      least_ = axis.from_zero ? 0 : least - room;
      largest_ = largest + room;
    }
    if (largest_ <= least_) largest_ = least_ + 1;
    ticks_ = axis.ticks.empty() ? chosen_ticks_() : axis.ticks;
    while (ticks_.size() > most_ticks) thin_(ticks_);
  }

  double at(double value) const {
    const double v = logarithmic_ ? std::log2(std::max(value, 1e-300)) : value;
    return from_ + (to_ - from_) * (v - least_) / (largest_ - least_);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  static void thin_(std::vector<double>& ticks) {
    std::vector<double> kept;
    for (size_t i = 0; i < ticks.size(); i += 2) kept.push_back(ticks[i]);
    ticks = kept;
  }

  // Powers of two, or 1, 2 and 5 times a power of ten.
  std::vector<double> chosen_ticks_() const {
    std::vector<double> ticks;
    if (logarithmic_) {
      // Where that leaves few, parts of an octave too.
      const double octaves = largest_ - least_;
      const std::vector<double> parts = octaves < 1.5 ? std::vector<double>{1, 1.25, 1.5, 1.75}
                                        : octaves < 3 ? std::vector<double>{1, 1.5}
                                                      : std::vector<double>{1};
      for (double e = std::floor(least_); e <= largest_; ++e) {
        for (const double part : parts) {
          const double t = std::exp2(e) * part;
          if (std::log2(t) >= least_ && std::log2(t) <= largest_) ticks.push_back(t);
        }
      }
      return ticks;
    }
    const double raw = (largest_ - least_) / 6;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    const double step = raw / power > 5   ? 10 * power
                        : raw / power > 2 ? 5 * power
                        : raw / power > 1 ? 2 * power
                                          : power;
    for (double t = std::ceil(least_ / step) * step; t <= largest_ + step / 1e6; t += step)
      ticks.push_back(std::abs(t) < step / 1e6 ? 0 : t);
    return ticks;
  }

  bool logarithmic_;
  double from_, to_, least_ = 0, largest_ = 1;
  std::vector<double> ticks_;
};

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  void add(double value) {
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
};

std::string mark(int style, double x, double y) {
  const double s = mark_size, t = 1.2 * mark_size;
  switch (style % style_count) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, s);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", x - s,
                         y - s, 2 * s, 2 * s);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h-{}z\"/>", x, y - t, t, 2 * t, 2 * t);
    case 3:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}l-{} {}l-{} -{}z\"/>", x, y - t, t, t, t, t,
                         t, t);
    case 4:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} -{}h-{}z\"/>", x, y + t, t, 2 * t, 2 * t);
    case 5:
      return fmt::format("<path class=\"open\" d=\"M{:.1f} {:.1f}h{}M{:.1f} {:.1f}v{}\"/>", x - t,
                         y, 2 * t, x, y - t, 2 * t);
    case 6:
      return fmt::format("<circle class=\"open\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, s);
    default:
      return fmt::format(
          "<rect class=\"open\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", x - s,
          y - s, 2 * s, 2 * s);
  }
}

std::string path_of(const std::vector<Point>& points, const Scale& x, const Scale& y) {
  std::string path;
  for (const Point& p : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(p.x), y.at(p.y));
  return path;
}

std::string axes_svg(const Plot& plot, const Scale& x, const Scale& y) {
  std::string svg = "<g class=\"axis\">\n";
  for (const double t : y.ticks()) {
    svg += fmt::format(
        "<path d=\"M{} {:.1f}h{}\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, y.at(t), width - left - right, left - 7, y.at(t) + 4, short_number(t));
  }
  for (const double t : x.ticks()) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {}v{}\"/><text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        x.at(t), top, height - top - bottom, x.at(t), height - bottom + 17, short_number(t));
  }
  svg += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (left + width - right) / 2, height - 8, escaped(plot.x.label));
  svg += fmt::format(
      "<text class=\"label\" transform=\"translate(14 {}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n</g>\n",
      (top + height - bottom) / 2, escaped(plot.y.label));
  return svg;
}

}  // namespace

std::string short_number(double value) {
  if (value >= 1000 && value < 1e6) return fmt::format("{:.0f}", value);
  if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  return fmt::format("{:.3g}", value);
}

std::string mark_svg(int style) {
  return fmt::format(
      "<svg class=\"s{}\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">"
      "<g class=\"mark\">{}</g></svg>",
      style % style_count, mark(style, 8, 8));
}

std::string plot_svg(const Plot& plot) {
  Range xs, ys;
  const auto add = [&](const std::vector<Point>& points) {
    for (const Point& p : points) {
      xs.add(p.x);
      ys.add(p.y);
    }
  };
  for (const Series& s : plot.series) add(s.points);
  for (const Limit& l : plot.limits) add(l.points);
  const Scale x(plot.x, xs.least, xs.largest, left, width - right);
  const Scale y(plot.y, ys.least, ys.largest, height - bottom, top);

  std::string svg =
      fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n",
                  width, height, escaped(plot.title));
  svg += axes_svg(plot, x, y);
  for (const Limit& l : plot.limits) {
    svg += fmt::format("<path class=\"limit\" d=\"{}\"/>\n", path_of(l.points, x, y));
  }
  for (const Series& s : plot.series) {
    svg += fmt::format("<g class=\"s{}\">\n", s.style % style_count);
    const std::vector<Point>& path = s.path.empty() ? s.points : s.path;
    if (s.line && path.size() > 1)
      svg += fmt::format("<path class=\"line\" d=\"{}\"/>\n", path_of(path, x, y));
    for (const Point& p : s.points) {
      if (p.spread > 0 && !plot.y.logarithmic) {
        svg += fmt::format("<path class=\"spread\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", x.at(p.x),
                           y.at(p.y - p.spread), y.at(p.y + p.spread));
      }
      svg += fmt::format("<g class=\"mark\">{}<title>{}</title></g>\n",
                         mark(s.style, x.at(p.x), y.at(p.y)), escaped(p.text));
    }
    svg += "</g>\n";
  }
  for (const Limit& l : plot.limits) {
    const Point& end = l.points.back();
    svg += fmt::format(
        "<text class=\"limit\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        x.at(end.x) - 4, std::max(y.at(end.y) - 6, top + 4), escaped(l.name));
  }
  return svg + "</svg>\n";
}

std::string bars_svg(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double row = 40, thick = 14, end = 8;
  double longest = 0;
  for (const Bar& b : bars) longest = std::max(longest, b.length + b.spread);
  if (longest <= 0) longest = 1;
  const double scale = (width - end) / longest;
  std::string svg =
      fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n",
                  width, row * static_cast<double>(bars.size()) + 4, escaped(title));
  double y = 2;
  for (const Bar& b : bars) {
    svg += fmt::format(
        "<g class=\"s{}\"><text x=\"0\" y=\"{}\">{}</text>"
        "<text class=\"value\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"bar\" x=\"0\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>",
        b.style % style_count, y + 14, escaped(b.name), width, y + 14, escaped(b.value), y + 19,
        std::max(1.0, b.length * scale), thick);
    if (b.spread > 0) {
      svg += fmt::format("<path class=\"spread\" d=\"M{:.1f} {}H{:.1f}\"/>",
                         std::max(0.0, b.length - b.spread) * scale, y + 19 + thick / 2,
                         (b.length + b.spread) * scale);
    }
    svg += "</g>\n";
    y += row;
  }
  return svg + "</svg>\n";
}

}  // namespace fovea::report
