// call_shape.cpp: shapes of calls from and to text.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/call_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace fovea {
namespace {

// 0: not a number from 1 to 999999999.
int64_t positive_number(const std::string& digits) {
  const bool is_number = !digits.empty() && digits.size() <= 9 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoll(digits) : 0;
}

}  // namespace

ExampleShape parse_call_shape(const std::string& text, ExampleShape shape) {
  const std::map<std::string, int64_t*> fields = {{"b", &shape.batch},      {"hq", &shape.heads},
                                                  {"hkv", &shape.kv_heads}, {"sq", &shape.q_len},
                                                  {"skv", &shape.kv_len},   {"d", &shape.d_qk}};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const size_t equals = word.find('='), slash = word.find('/');
    const auto field = fields.find(word.substr(0, equals));
    const bool is_pair = slash != std::string::npos && field != fields.end() && field->first == "d";
    const std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
    const int64_t first = positive_number(is_pair ? number.substr(0, number.find('/')) : number);
    const int64_t second = is_pair ? positive_number(word.substr(slash + 1)) : first;
    if (field == fields.end() || first < 1 || second < 1) {
      throw std::invalid_argument(
          fmt::format("--shape '{}': '{}' is not one of b hq hkv sq skv d with a number of 1 to "
                      "999999999 (d=128, or d=192/128)",
                      text, word));
    }
    *field->second = first;
    if (field->first == "d") shape.d_v = second;
    begin = end + 1;
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw std::invalid_argument(
        fmt::format("--shape '{}': hq is {} and hkv {}: allowed is an hq that hkv divides", text,
                    shape.heads, shape.kv_heads));
  }
  return shape;
}

std::string call_shape_text(const ExampleShape& s) {
  return fmt::format(
      "b={},hq={},hkv={},sq={},skv={},d={}", s.batch, s.heads, s.kv_heads, s.q_len, s.kv_len,
      s.d_qk == s.d_v ? fmt::format("{}", s.d_qk) : fmt::format("{}/{}", s.d_qk, s.d_v));
}

}  // namespace fovea
