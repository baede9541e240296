// prefill_cpu_text.cpp: the parameters of the CPU schedule by name.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "generators/schedules/prefill_cpu.h"

namespace fovea {
namespace {

// A number, or a choice that is written as 0 or 1.
struct Field {
  const char* name;
  int PrefillCpuSchedule::* number;
  bool PrefillCpuSchedule::* choice = nullptr;
};

constexpr Field fields[] = {
    {"lanes", &PrefillCpuSchedule::lanes},
    {"row_vectors", &PrefillCpuSchedule::row_vectors},
    {"row_tiles", &PrefillCpuSchedule::row_tiles},
    {"key_tile", &PrefillCpuSchedule::key_tile},
    {"feature_group", &PrefillCpuSchedule::feature_group},
    {"key_block", &PrefillCpuSchedule::key_block},
    {"feature_unroll", &PrefillCpuSchedule::feature_unroll},
    {"key_unroll", &PrefillCpuSchedule::key_unroll},
    {"dot_pairs", nullptr, &PrefillCpuSchedule::dot_pairs},
};

}  // namespace

std::string PrefillCpuSchedule::text() const {
  std::string out;
  for (const Field& f : fields)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", f.name,
                       f.number ? this->*f.number : static_cast<int>(this->*f.choice));
  return out;
}

PrefillCpuSchedule PrefillCpuSchedule::with(const std::string& text) const {
  PrefillCpuSchedule changed = *this;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const Field* field = nullptr;
    std::string names;
    for (const Field& f : fields) {
      if (name == f.name) field = &f;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
    }
    if (!field) {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}' is not a parameter; allowed are {}", text, name, names));
    }
    int value = 0;
    const char* first = word.data() + std::min(equals + 1, word.size());
    const char* last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(first, last, value);
    if (first == last || error != std::errc() || stop != last) {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}' is not {}=NUMBER", text, word, name));
    }
    if (field->number) {
      changed.*(field->number) = value;
    } else if (value == 0 || value == 1) {
      changed.*(field->choice) = value == 1;
    } else {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}': allowed is 0 or 1", text, word));
    }
  }
  return changed;
}

}  // namespace fovea
