// layout.cpp: breaking lines, and the nearest of some names.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/layout.h"

#include <algorithm>
#include <numeric>

namespace fovea {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;  // not a continuation byte
  }));
}

std::string wrapped(const std::string& first, size_t indent, const std::string& text) {
  std::string out = first;
  size_t column = width_of(first);
  const auto pad = [&] {
    if (column < indent) out.append(indent - column, ' ');
    column = std::max(column, indent);
  };
  pad();
  bool line_start = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line_start && column + 1 + width_of(word) > line_width) {
      out += '\n';
      column = 0;
      pad();
      line_start = true;
    }
    if (!line_start) out += ' ', ++column;
    out += word;
    column += width_of(word);
    line_start = false;
  }
  // A text of nothing leaves no blanks at the end of the line.
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

std::string wrapped_formula(const std::string& first, size_t indent, const std::string& formula) {
  // A space that is not to be broken, for the time of wrapping.
  constexpr char kept = '\1';
  std::string text;
  for (size_t begin = 0; begin < formula.size();) {
    size_t end = formula.size();
    for (const char* sign : {" && ", " || ", " if ", " else "})
      end = std::min(end, formula.find(sign, begin + 1));
    std::string piece = formula.substr(begin, end - begin);
    // Each piece but the first begins with the space before its operator.
    const size_t skip = begin == 0 ? 0 : 1;
    if (width_of(piece) + indent <= line_width)
      std::replace(piece.begin() + static_cast<std::ptrdiff_t>(skip), piece.end(), ' ', kept);
    text += piece;
    begin = end;
  }
  text = wrapped(first, indent, text);
  // Padding stands before the text and holds none.
  std::replace(text.begin(), text.end(), kept, ' ');
  return text;
}

namespace {

// Letters to insert, delete, replace, or swap with their neighbour.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      current[j] =
          std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& names) {
  std::string nearest;
  // A third of the letters may differ.
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : names) {
    const size_t d = distance(name, candidate);
    if (d < least) {
      least = d;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace fovea
