// axes.cpp: lists and ranges of values on the command line.
// SPDX-License-Identifier: Apache-2.0
#include "bench/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace fovea::bench {
namespace {

constexpr size_t most_values = 10000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

[[noreturn]] void refuse(const std::string& where, const std::string& word) {
  throw std::invalid_argument(
      fmt::format("{}: '{}' is not a number of 1 to 999999999, a list (512|2048) or a range "
                  "(1..16, 64..512+64, 512..8192*2)",
                  where, word));
}

int64_t number(const std::string& where, const std::string& word, const std::string& digits) {
  const bool is_number = !digits.empty() && digits.size() <= 9 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoll(digits) < 1) refuse(where, word);
  return std::stoll(digits);
}

void append_range(const std::string& where, const std::string& word, size_t dots,
                  std::vector<int64_t>& values) {
  const std::string rest = word.substr(dots + 2);
  const size_t sign = rest.find_first_of("+*");
  const bool geometric = sign != std::string::npos && rest[sign] == '*';
  const int64_t first = number(where, word, word.substr(0, dots));
  const int64_t last = number(where, word, rest.substr(0, sign));
  const int64_t step = sign == std::string::npos ? 1 : number(where, word, rest.substr(sign + 1));
  if (last < first || (geometric && step < 2)) refuse(where, word);
  for (int64_t x = first; x <= last; x = geometric ? x * step : x + step) {
    if (values.size() == most_values)
      throw std::invalid_argument(
          fmt::format("{}: '{}' has more than {} values", where, word, most_values));
    values.push_back(x);
  }
}

using HeadDims = std::pair<int64_t, int64_t>;

std::vector<HeadDims> parse_head_dims_axis(const std::string& where, const std::string& text) {
  std::vector<HeadDims> values;
  for (const std::string& word : split(text, '|')) {
    const size_t slash = word.find('/');
    if (slash != std::string::npos) {
      values.emplace_back(number(where, word, word.substr(0, slash)),
                          number(where, word, word.substr(slash + 1)));
      continue;
    }
    for (const int64_t x : parse_axis(where, word)) values.emplace_back(x, x);
  }
  return values;
}

}  // namespace

std::vector<int64_t> parse_axis(const std::string& where, const std::string& text) {
  std::vector<int64_t> values;
  for (const std::string& word : split(text, '|')) {
    const size_t dots = word.find("..");
    if (dots == std::string::npos) {
      values.push_back(number(where, word, word));
    } else {
      append_range(where, word, dots, values);
    }
  }
  return values;
}

std::vector<ExampleShape> parse_shapes(const std::string& text, const std::string& pass) {
  constexpr std::array names = {"b", "hq", "hkv", "sq", "skv"};
  const std::string where = fmt::format("--shape '{}'", text);
  const bool decode = pass == "decode";
  // 0: follows its neighbour.
  std::map<std::string, std::vector<int64_t>> axes = {{"b", {1}},
                                                      {"hq", {8}},
                                                      {"hkv", {0}},
                                                      {"sq", {decode ? 1 : 2048}},
                                                      {"skv", {decode ? 4096 : 0}}};
  std::vector<HeadDims> head_dims = {{64, 64}};
  std::map<std::string, bool> given;
  for (const std::string& word : split(text, ',')) {
    if (word.empty()) continue;
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals),
                      values = word.substr(equals).substr(equals < word.size() ? 1 : 0);
    if (name != "d" && !axes.count(name)) {
      throw std::invalid_argument(
          fmt::format("{}: '{}' is not one of b hq hkv sq skv d, as sq=512|2048", where, word));
    }
    if (std::exchange(given[name], true))
      throw std::invalid_argument(fmt::format("{}: '{}' is given twice", where, name));
    if (name == "d") {
      head_dims = parse_head_dims_axis(where, values);
    } else {
      axes[name] = parse_axis(where, values);
    }
  }
  std::vector<ExampleShape> shapes = {{}};
  const auto cross = [&](const auto& values, auto&& assign) {
    std::vector<ExampleShape> more;
    for (const ExampleShape& shape : shapes) {
      for (const auto& value : values) {
        more.push_back(shape);
        assign(more.back(), value);
      }
    }
    if (more.size() > most_values)
      throw std::invalid_argument(fmt::format("{}: more than {} shapes", where, most_values));
    shapes = std::move(more);
  };
  const std::array<int64_t ExampleShape::*, names.size()> members = {
      &ExampleShape::batch, &ExampleShape::heads, &ExampleShape::kv_heads, &ExampleShape::q_len,
      &ExampleShape::kv_len};
  for (size_t i = 0; i < names.size(); ++i)
    cross(axes.at(names[i]), [&](ExampleShape& s, int64_t x) { s.*members[i] = x; });
  cross(head_dims, [](ExampleShape& s, const HeadDims& d) { std::tie(s.d_qk, s.d_v) = d; });
  for (ExampleShape& s : shapes) {
    if (s.kv_heads == 0) s.kv_heads = s.heads;
    if (s.kv_len == 0) s.kv_len = s.q_len;
    if (s.heads % s.kv_heads != 0) {
      throw std::invalid_argument(
          fmt::format("{}: hq is {} and hkv {}: allowed is an hq that hkv divides", where, s.heads,
                      s.kv_heads));
    }
  }
  return shapes;
}

}  // namespace fovea::bench
