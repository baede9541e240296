// problem.cpp: one attention call on random inputs, with its reference and its useful work.
// SPDX-License-Identifier: Apache-2.0
#include "bench/problem.h"

#include <fmt/format.h>
#include <fovea/dsl/evaluate.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace fovea::bench {
namespace {

void fill(std::vector<float>& values, size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.7f,
                                                1.7f);  // variance about 1, as after a projection
  values.resize(count);
  for (float& x : values) x = uniform(random);
}

// Pairs (query, key) of one head that the mask keeps, by asking it.
double visible_pairs(const Variant& variant, const ProblemShape& s, const ParameterValues& values) {
  Environment<double> env = parameter_environment(variant, values);
  env.lanes = static_cast<size_t>(s.skv);
  for (const char* zero : {"batch", "head", "kv_head"})
    env.variables[zero] = Lanes<double>::integer(0);
  env.variables["q_len"] = Lanes<double>::integer(s.sq);
  env.variables["kv_len"] = Lanes<double>::integer(s.skv);
  Lanes<double> keys;
  for (int64_t k = 0; k < s.skv; ++k) keys.integers.push_back(k);
  env.variables["k"] = keys;
  const Expr mask = variant.mask();
  double pairs = 0;
  for (int64_t row = 0; row < s.sq; ++row) {
    env.variables["row"] = Lanes<double>::integer(row);
    env.variables["q"] = Lanes<double>::integer(row + s.skv - s.sq);
    const std::vector<int64_t> visible = evaluate(mask, env).integers;
    const auto count =
        std::count_if(visible.begin(), visible.end(), [](int64_t x) { return x != 0; });
    pairs += static_cast<double>(visible.size() == 1 ? visible[0] * s.skv : count);
  }
  return pairs;
}

}  // namespace

std::string ProblemShape::text() const {
  return fmt::format("b={},hq={},hkv={},sq={},skv={},d={}", b, hq, hkv, sq, skv, d);
}

ProblemShape ProblemShape::parse(const std::string& text, ProblemShape shape) {
  const std::map<std::string, int64_t*> fields = {{"b", &shape.b},     {"hq", &shape.hq},
                                                  {"hkv", &shape.hkv}, {"sq", &shape.sq},
                                                  {"skv", &shape.skv}, {"d", &shape.d}};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    const auto field = fields.find(item.substr(0, equals));
    const std::string digits = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (field == fields.end() || digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos || std::stoll(digits) < 1) {
      throw std::invalid_argument(fmt::format(
          "shape '{}': '{}' is not one of b hq hkv sq skv d with a number of at least 1", text,
          item));
    }
    *field->second = std::stoll(digits);
    begin = end + 1;
  }
  return shape;
}

Problem::Problem(const fovea_library_info* library, const Variant& variant, const ProblemShape& s,
                 const std::string& target, int threads,
                 const std::map<std::string, double>& settings)
    : library_(library), variant_(variant), shape_(s), target_(target) {
  for (int32_t i = 0; i < library->variant_count; ++i) {
    if (variant.name() == library->variants[i].name) index_ = i;
  }
  if (index_ < 0)
    throw std::invalid_argument(
        fmt::format("variant '{}' is not in {}", variant.name(), library->name));
  const fovea_variant_info& info = library->variants[index_];
  examples_ = std::make_unique<ExampleParameters>(
      variant, ExampleShape{s.b, s.hq, s.hkv, s.sq, s.skv, s.d, s.d});
  size_t size = 0;
  for (int32_t i = 0; i < info.parameter_count; ++i) {
    const fovea_parameter_info& p = info.parameters[i];
    size = std::max(size, p.offset + (p.kind == FOVEA_TABLE ? sizeof(fovea_table) : 4));
  }
  params_.resize(size + 1);
  if (size > 0) std::memcpy(params_.data(), examples_->data(), size);
  for (int32_t i = 0; i < info.parameter_count; ++i) {
    const fovea_parameter_info& p = info.parameters[i];
    const auto setting = settings.find(p.name);
    if (p.kind != FOVEA_SCALAR || setting == settings.end()) continue;
    const float real = static_cast<float>(setting->second);
    const auto integer = static_cast<int32_t>(setting->second);
    std::memcpy(params_.data() + p.offset,
                p.dtype == FOVEA_F32 ? static_cast<const void*>(&real) : &integer, 4);
  }
  fill(q_, static_cast<size_t>(s.b * s.hq * s.sq * s.d), 1);
  fill(k_, static_cast<size_t>(s.b * s.hkv * s.skv * s.d), 2);
  fill(v_, static_cast<size_t>(s.b * s.hkv * s.skv * s.d), 3);
  out_.resize(q_.size());
  call_ = Call(
      tensor(q_.data(), {s.b, s.hq, s.sq, s.d}), tensor(k_.data(), {s.b, s.hkv, s.skv, s.d}),
      tensor(v_.data(), {s.b, s.hkv, s.skv, s.d}), tensor(out_.data(), {s.b, s.hq, s.sq, s.d}));
  exec_.threads = threads;
  exec_.target = target_.empty() ? nullptr : target_.c_str();
  call_.exec = &exec_;
  workspace_.resize(fovea_variant_workspace(library_, index_, &call_));
  call_.workspace = workspace_.data();
  call_.workspace_size = workspace_.size();
  run();
  useful_flops_ = 4.0 * static_cast<double>(s.d * s.b * s.hq) *
                  visible_pairs(variant, s, parameter_values(variant, params_.data()));
}

void Problem::run() {
  const fovea_status status = fovea_variant_run(library_, index_, &call_, params_.data());
  if (status != FOVEA_OK) throw std::invalid_argument(fovea_last_message());
}

Error Problem::error() const {
  const ParameterValues values = parameter_values(variant_, params_.data());
  ReferenceOptions options;
  options.row_step = std::max<int64_t>(1, shape_.sq / 64);
  const ReferenceResult exact = reference_attention(variant_, call_, values, options);
  const ReferenceResult plain = plain_attention(variant_, call_, values, options);
  Error e;
  double plain_error = 0;
  for (size_t row = 0; row < exact.computed.size(); ++row) {
    if (!exact.computed[row]) continue;
    for (size_t i = row * static_cast<size_t>(exact.d_v);
         i < (row + 1) * static_cast<size_t>(exact.d_v); ++i) {
      e.max_abs = std::max(e.max_abs, std::fabs(exact.out[i] - static_cast<double>(out_[i])));
      plain_error = std::max(plain_error, std::fabs(exact.out[i] - plain.out[i]));
      if (std::isnan(out_[i])) e.max_abs = HUGE_VAL;
    }
  }
  e.bound = 2 * plain_error;
  return e;
}

}  // namespace fovea::bench
