// parameters.cpp: examples, and what --set puts in their place.
// SPDX-License-Identifier: Apache-2.0
#include "bench/parameters.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace fovea::bench {
namespace {

double number(const std::string& setting, const std::string& text) {
  size_t read = 0;
  double x = 0;
  try {
    x = std::stod(text, &read);
  } catch (const std::logic_error&) {
  }
  if (read == 0 || read != text.size())
    throw std::invalid_argument(fmt::format(
        "--set '{}': allowed is NAME=NUMBER, of a table also NAME=parts:COUNT", setting));
  return x;
}

template <typename T>
void append(std::vector<std::byte>& block, const T& field) {
  const size_t offset = (block.size() + alignof(T) - 1) / alignof(T) * alignof(T);
  block.resize(offset + sizeof(T));
  std::memcpy(&block[offset], &field, sizeof(T));
}

}  // namespace

size_t entry_count(const fovea_table& table) {
  size_t count = 1;
  for (const int64_t extent : table.extent) count *= static_cast<size_t>(extent > 0 ? extent : 1);
  return count;
}

Settings parse_settings(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      throw std::invalid_argument(fmt::format("--set '{}': allowed is NAME=VALUE", word));
    if (!settings.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw std::invalid_argument(
          fmt::format("--set: '{}' is given twice", word.substr(0, equals)));
  }
  return settings;
}

CallParameters::CallParameters(const Variant& variant, const ExampleShape& shape,
                               const Settings& settings)
    : examples_(variant, shape), values_(examples_.values()) {
  for (const auto& p : variant.parameters()) {
    const auto setting = settings.find(p->name);
    if (setting != settings.end()) change_(*p, setting->second);
    const ParameterValue& value = values_.at(p->name);
    if (p->kind == Parameter::Kind::Table) {
      append(block_, value.table);
    } else if (p->type.is_float()) {
      append(block_, static_cast<float>(value.scalar));
    } else {
      append(block_, static_cast<int32_t>(value.scalar));
    }
  }
}

void CallParameters::change_(const Parameter& p, const std::string& text) {
  const std::string setting = p.name + "=" + text;
  ParameterValue& value = values_.at(p.name);
  const bool is_table = p.kind == Parameter::Kind::Table;
  const bool is_parts = is_table && text.starts_with("parts:");
  const double x = number(setting, is_parts ? text.substr(6) : text);
  const bool whole = x == std::trunc(x) && std::fabs(x) <= largest_integer;
  if ((!p.type.is_float() || is_parts) && !whole)
    throw std::invalid_argument(fmt::format("--set '{}': allowed is an integer", setting));
  if (!is_table) {
    if (!(x >= p.minimum && x <= p.maximum) || (p.exclusive_minimum && x == p.minimum)) {
      throw std::invalid_argument(fmt::format("--set '{}': allowed is {}{}, {}]", setting,
                                              p.exclusive_minimum ? "(" : "[", p.minimum,
                                              p.maximum));
    }
    value.scalar = p.type.is_float() ? static_cast<double>(static_cast<float>(x)) : x;
    return;
  }
  if (is_parts && x < 1)
    throw std::invalid_argument(fmt::format("--set '{}': allowed is 1 part or more", setting));
  const size_t count = entry_count(value.table);
  const auto last = static_cast<size_t>(value.table.extent[p.axes.size() - 1]);
  std::vector<std::byte>& entries =
      tables_.emplace_back(count * static_cast<size_t>(p.type.bytes()));
  for (size_t i = 0; i < count; ++i) {
    const double entry =
        is_parts ? std::floor(static_cast<double>(i % last) * x / static_cast<double>(last)) : x;
    if (p.type.is_float()) {
      reinterpret_cast<float*>(entries.data())[i] = static_cast<float>(entry);
    } else if (p.type.is_uint()) {
      entries[i] = static_cast<std::byte>(entry != 0);
    } else {
      reinterpret_cast<int32_t*>(entries.data())[i] = static_cast<int32_t>(entry);
    }
  }
  value.table.data = entries.data();
}

}  // namespace fovea::bench
