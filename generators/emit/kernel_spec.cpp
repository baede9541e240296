// kernel_spec.cpp: the grammar of kernel names.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/kernel_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace fovea {
namespace {

std::string replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

std::optional<int> parse_dimension(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // The second comparison refuses leading zeros, which would give one kernel two names.
  if (error != std::errc() || value < 1 || std::to_string(value) != text) return {};
  return value;
}

std::vector<std::string> split_fields(const std::string& text, const std::string& separator) {
  std::vector<std::string> fields;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size()) {
    fields.push_back(text.substr(begin, end - begin));
  }
  fields.push_back(text.substr(begin));
  return fields;
}

// "", "__q400_k400", "__k1000"
std::string limits_text(const KernelSpec& s) {
  std::string text;
  if (s.most_rows > 0) text += fmt::format("_q{}", s.most_rows);
  if (s.most_keys > 0) text += fmt::format("_k{}", s.most_keys);
  return text.empty() ? "" : "_" + text;
}

bool parse_limits(const std::string& text, KernelSpec& spec) {
  for (const std::string& part : split_fields(text, "_")) {
    const std::optional<int> number = part.empty() ? std::nullopt : parse_dimension(part.substr(1));
    if (!number || (part[0] != 'q' && part[0] != 'k')) return false;
    (part[0] == 'q' ? spec.most_rows : spec.most_keys) = *number;
  }
  return true;
}

}  // namespace

std::string kernel_name(const KernelSpec& s) {
  const std::string dims =
      s.d_qk == s.d_v ? fmt::format("{}", s.d_qk) : fmt::format("{}x{}", s.d_qk, s.d_v);
  const std::string cache = s.cache == "none" ? "" : "__cache_" + s.cache;
  return fmt::format("fovea_{}__{}__{}{}__d{}__{}{}", s.pass, s.variant, s.dtype, cache, dims,
                     replaced(s.target, '-', '_'), limits_text(s));
}

std::optional<KernelSpec> parse_kernel_name(const std::string& name) {
  static const std::string prefix = "fovea_";
  if (name.compare(0, prefix.size(), prefix) != 0) return {};
  std::vector<std::string> fields = split_fields(name.substr(prefix.size()), "__");
  std::string cache = "none";
  static const std::string cache_prefix = "cache_";
  if (fields.size() >= 6 && fields[3].starts_with(cache_prefix)) {
    cache = fields[3].substr(cache_prefix.size());
    fields.erase(fields.begin() + 3);
  }
  std::string limits;
  if (fields.size() == 6) {
    limits = fields.back();
    fields.pop_back();
  }
  if (fields.size() != 5 || fields[3].empty() || fields[3][0] != 'd') return {};
  const std::vector<std::string> dims = split_fields(fields[3].substr(1), "x");
  if (dims.size() > 2) return {};
  const std::optional<int> d_qk = parse_dimension(dims[0]), d_v = parse_dimension(dims.back());
  if (!d_qk || !d_v) return {};
  const auto plain = [](const std::string& s) {
    return !s.empty() && s.front() != '_' && s.back() != '_' &&
           s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  };
  if (!std::all_of(fields.begin(), fields.end(), plain)) return {};
  KernelSpec spec{fields[0], fields[1], fields[2], *d_qk, *d_v, replaced(fields[4], '_', '-'),
                  cache};
  if (!limits.empty() && !parse_limits(limits, spec)) return {};
  if (kernel_name(spec) != name) return {};
  return spec;
}

KernelSpec without_limits(KernelSpec spec) {
  spec.most_rows = spec.most_keys = 0;
  return spec;
}

}  // namespace fovea
