// page_template.cpp: filling blocks.
// SPDX-License-Identifier: Apache-2.0
#include "generators/report/page_template.h"

#include <sstream>
#include <stdexcept>

namespace fovea::report {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

PageTemplate::PageTemplate(const std::string& text) {
  static const std::string mark = "<!-- block: ";
  std::string* block = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(mark)) {
      block = &blocks_[line.substr(mark.size(), line.find(" -->") - mark.size())];
    } else if (block != nullptr) {
      *block += line + "\n";
    }
  }
}

std::string PageTemplate::fill(const std::string& block,
                               const std::map<std::string, std::string>& values) const {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) throw std::logic_error("the page has no block '" + block + "'");
  const std::string& text = found->second;
  std::string out;
  size_t at = 0;
  for (size_t open; (open = text.find("{{", at)) != std::string::npos;) {
    out += text.substr(at, open - at);
    const bool is_html = text.compare(open, 3, "{{{") == 0;
    const size_t begin = open + (is_html ? 3 : 2);
    const size_t close = text.find(is_html ? "}}}" : "}}", begin);
    if (close == std::string::npos)
      throw std::logic_error("a place in block '" + block + "' does not end");
    const std::string key = text.substr(begin, close - begin);
    const auto value = values.find(key);
    if (value == values.end())
      throw std::logic_error("block '" + block + "' has a place '" + key + "' without a value");
    out += is_html ? value->second : escaped(value->second);
    at = close + (is_html ? 3 : 2);
  }
  return out + text.substr(at);
}

}  // namespace fovea::report
