// figures.cpp: reading, writing, comparing. SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fovea::test {
namespace {

constexpr const char* header = "kernel,figure,value";

// Address arithmetic around a loop may move a little; one spill more among few is too many.
constexpr double allowed_percent = 3;

}  // namespace

Figures parse_figures(const std::string& text) {
  Figures figures;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != header)
    throw std::runtime_error(fmt::format("figures: the first line must be '{}'", header));
  while (std::getline(lines, line)) {
    const size_t first = line.find(','), second = line.find(',', first + 1);
    int64_t value = 0;
    const char* end = line.data() + line.size();
    std::from_chars_result read = {end, std::errc::invalid_argument};
    if (second != std::string::npos) read = std::from_chars(line.data() + second + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 0) {
      throw std::runtime_error(fmt::format("figures: '{}' is not '{}'", line, header));
    }
    const bool is_new =
        figures
            .emplace(std::pair{line.substr(0, first), line.substr(first + 1, second - first - 1)},
                     value)
            .second;
    if (!is_new) throw std::runtime_error(fmt::format("figures: '{}' is there twice", line));
  }
  return figures;
}

std::string figures_text(const Figures& figures) {
  std::string text = fmt::format("{}\n", header);
  for (const auto& [key, value] : figures)
    text += fmt::format("{},{},{}\n", key.first, key.second, value);
  return text;
}

std::string complaint(const Figures& committed, const std::string& kernel,
                      const std::string& figure, int64_t measured) {
  const auto it = committed.find({kernel, figure});
  if (it == committed.end())
    return fmt::format("{}: {} is {}, no figure is committed", kernel, figure, measured);
  const int64_t before = it->second;
  if (std::fabs(static_cast<double>(measured - before)) <=
      allowed_percent / 100 * static_cast<double>(before))
    return "";
  const std::string percent =
      before == 0 ? ""
                  : fmt::format(", {:+.1f} %", 100 * static_cast<double>(measured - before) /
                                                   static_cast<double>(before));
  return fmt::format("{}: {} is {}, committed is {}: {:+}{} (allowed: ±{} %)", kernel, figure,
                     measured, before, measured - before, percent, allowed_percent);
}

void expect_committed(
    const Figures& measured, const std::string& file,
    const std::function<bool(const std::string&, const std::string&)>& of_others) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const char* update = std::getenv("FOVEA_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    Figures all = measured;
    if (!text.str().empty()) {
      for (const auto& [key, value] : parse_figures(text.str())) {
        if (of_others(key.first, key.second)) all.emplace(key, value);
      }
    }
    std::ofstream(file) << figures_text(all);
    GTEST_SKIP() << file << " is written anew";
  }
  const Figures committed = parse_figures(text.str());
  std::string complaints;
  for (const auto& [key, value] : measured) {
    const std::string of_figure = complaint(committed, key.first, key.second, value);
    if (!of_figure.empty()) complaints += of_figure + "\n";
  }
  for (const auto& [key, value] : committed) {
    if (measured.count(key) == 0 && !of_others(key.first, key.second))
      complaints += fmt::format("{}: {} is committed, and not measured\n", key.first, key.second);
  }
  EXPECT_EQ(complaints, "")
      << "If that is meant, commit new figures: FOVEA_UPDATE_GOLDEN=1 bash scripts/test.sh "
         "instructions";
}

}  // namespace fovea::test
