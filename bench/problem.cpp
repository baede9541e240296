// problem.cpp: one attention call on random inputs, with its reference and its useful work.
// SPDX-License-Identifier: Apache-2.0
#include "bench/problem.h"

#include <fmt/format.h>
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/half_precision.h>
#include <fovea/fovea.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace fovea::bench {
namespace {

// Of every head some rows are checked: as many as this many multiplications of the reference allow,
// but eight at least.
constexpr double reference_budget = 1.5e8;
constexpr int64_t fewest_rows = 8;

void fill(const fovea_tensor& tensor, size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  // Variance about 1, as after a projection.
  std::uniform_real_distribution<float> uniform(-1.7f, 1.7f);
  auto* element = static_cast<unsigned char*>(tensor.data);
  const auto size = static_cast<size_t>(element_size(tensor.dtype));
  for (size_t at = 0; at < bytes; at += size)
    store_element(element + at, tensor.dtype, uniform(random));
}

// Pairs (query, key) that the mask keeps, over all sequences and heads, by asking it.
double visible_pairs(const Variant& variant, const ExampleShape& s, const ParameterValues& values) {
  const Expr mask = Halide::Internal::substitute_in_all_lets(variant.mask());
  const double all =
      static_cast<double>(s.batch * s.heads * s.q_len) * static_cast<double>(s.kv_len);
  if (Halide::Internal::is_const_one(mask)) return all;
  const auto depends_on = [&](const char* name) {
    return Halide::Internal::expr_uses_var(mask, name);
  };
  const bool by_batch = depends_on("batch"), by_head = depends_on("head") || depends_on("kv_head");
  Environment<double> env = parameter_environment(variant, values);
  env.lanes = static_cast<size_t>(s.kv_len);
  env.variables["q_len"] = Lanes<double>::integer(s.q_len);
  env.variables["kv_len"] = Lanes<double>::integer(s.kv_len);
  Lanes<double> keys;
  for (int64_t k = 0; k < s.kv_len; ++k) keys.integers.push_back(k);
  env.variables["k"] = keys;
  double pairs = 0;
  for (int64_t b = 0; b < (by_batch ? s.batch : 1); ++b) {
    for (int64_t h = 0; h < (by_head ? s.heads : 1); ++h) {
      env.variables["batch"] = Lanes<double>::integer(b);
      env.variables["head"] = Lanes<double>::integer(h);
      env.variables["kv_head"] = Lanes<double>::integer(h / (s.heads / s.kv_heads));
      for (int64_t row = 0; row < s.q_len; ++row) {
        env.variables["row"] = Lanes<double>::integer(row);
        env.variables["q"] = Lanes<double>::integer(row + s.kv_len - s.q_len);
        const std::vector<int64_t> visible = evaluate(mask, env).integers;
        const auto count =
            std::count_if(visible.begin(), visible.end(), [](int64_t x) { return x != 0; });
        pairs += static_cast<double>(visible.size() == 1 ? visible[0] * s.kv_len : count);
      }
    }
  }
  return pairs * static_cast<double>((by_batch ? 1 : s.batch) * (by_head ? 1 : s.heads));
}

size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

fovea_dtype parse_element_type(const std::string& name) {
  if (name == "f32") return FOVEA_F32;
  if (name == "f16") return FOVEA_F16;
  if (name == "bf16") return FOVEA_BF16;
  throw std::invalid_argument(fmt::format("--dtype '{}': allowed is f32, f16, bf16", name));
}

Problem::Problem(const Variant& variant, const std::string& dtype, const ExampleShape& s,
                 const Settings& settings, SharedMemory& memory)
    : variant_(variant), shape_(s), parameters_(variant, s, settings), memory_(memory) {
  const fovea_dtype type = parse_element_type(dtype);
  const auto count = [](int64_t b, int64_t h, int64_t rows, int64_t d) {
    return static_cast<size_t>(b) * static_cast<size_t>(h) * static_cast<size_t>(rows) *
           static_cast<size_t>(d);
  };
  const size_t q = count(s.batch, s.heads, s.q_len, s.d_qk);
  const size_t k = count(s.batch, s.kv_heads, s.kv_len, s.d_qk);
  const size_t v = count(s.batch, s.kv_heads, s.kv_len, s.d_v);
  const size_t out = count(s.batch, s.heads, s.q_len, s.d_v);
  const auto element = static_cast<size_t>(element_size(type));
  q_bytes_ = q * element, k_bytes_ = k * element, v_bytes_ = v * element,
  out_bytes_ = out * element;
  size_t size = padded(q_bytes_) + padded(k_bytes_) + padded(v_bytes_) + padded(out_bytes_);
  for (const auto& p : variant.parameters()) {
    if (p->kind != Parameter::Kind::Table) continue;
    const fovea_table& table = parameters_.values().at(p->name).table;
    tables_.emplace_back(p->name, size);
    size += padded(entry_count(table) * static_cast<size_t>(p->type.bytes()));
  }
  memory.resize(size);
  unsigned char* at = memory.data();
  const auto place = [&](size_t bytes) {
    unsigned char* here = at;
    at += padded(bytes);
    return here;
  };
  const auto tensor_of = [&](unsigned char* data, int64_t heads, int64_t rows, int64_t d) {
    const Shape shape = {s.batch, heads, rows, d};
    return tensor(data, type, shape, bhsd_strides(shape));
  };
  call_ = Call(tensor_of(place(q_bytes_), s.heads, s.q_len, s.d_qk),
               tensor_of(place(k_bytes_), s.kv_heads, s.kv_len, s.d_qk),
               tensor_of(place(v_bytes_), s.kv_heads, s.kv_len, s.d_v),
               tensor_of(place(out_bytes_), s.heads, s.q_len, s.d_v));
  fill(call_.q, q_bytes_, 1);
  fill(call_.k, k_bytes_, 2);
  fill(call_.v, v_bytes_, 3);
  for (const auto& [name, offset] : tables_) {
    const fovea_table& table = parameters_.values().at(name).table;
    std::memcpy(
        memory.data() + offset, table.data,
        entry_count(table) * static_cast<size_t>(variant.find_parameter(name)->type.bytes()));
  }
  useful_flops_ =
      2.0 * static_cast<double>(s.d_qk + s.d_v) * visible_pairs(variant, s, parameters_.values());
  make_reference_();
}

void Problem::make_reference_() {
  const ExampleShape& s = shape_;
  const double row_cost = static_cast<double>(s.batch * s.heads * s.kv_len * (s.d_qk + s.d_v));
  const auto rows = std::max(fewest_rows, static_cast<int64_t>(reference_budget / row_cost));
  ReferenceOptions options;
  options.row_step = std::max<int64_t>(1, s.q_len / rows);
  const ReferenceResult exact = reference_attention(variant_, call_, parameters_.values(), options);
  const ReferenceResult plain = plain_attention(variant_, call_, parameters_.values(), options);
  double largest = 0;
  for (size_t row = 0; row < exact.computed.size(); ++row) {
    if (!exact.computed[row]) continue;
    const auto features = static_cast<size_t>(exact.d_v);
    for (size_t i = row * features; i < (row + 1) * features; ++i) {
      checked_.push_back(i);
      exact_.push_back(exact.out[i]);
      bound_ = std::max(bound_, 2 * std::fabs(exact.out[i] - plain.out[i]));
      largest = std::max(largest, std::fabs(exact.out[i]));
    }
  }
  // As in KernelTrial: in calls of few numbers a plain evaluation can be exact by luck.
  const double roundings =
      64 * unit_roundoff(FOVEA_F32) + (dtype() == FOVEA_F32 ? 0 : 4 * unit_roundoff(dtype()));
  bound_ = std::max(bound_, roundings * largest);
}

double Problem::bytes() const {
  return static_cast<double>(q_bytes_ + k_bytes_ + v_bytes_ + out_bytes_);
}

Error Problem::error() const {
  Error e;
  e.bound = bound_;
  const auto* out = static_cast<const unsigned char*>(call_.out.data);
  const auto size = static_cast<size_t>(element_size(dtype()));
  for (size_t i = 0; i < checked_.size(); ++i) {
    const auto got = static_cast<double>(load_element(out + checked_[i] * size, dtype()));
    // What is not a number is compared as infinitely wrong, unless both are.
    const double difference = std::isnan(got) && std::isnan(exact_[i]) ? 0
                              : got == exact_[i]                       ? 0
                                                                       : std::fabs(got - exact_[i]);
    e.max_abs = std::isnan(difference) ? HUGE_VAL : std::max(e.max_abs, difference);
    if (std::isinf(e.max_abs)) break;
  }
  return e;
}

nlohmann::ordered_json Problem::description() const {
  const auto offset = [&](const fovea_tensor& t) {
    return static_cast<const unsigned char*>(t.data) - memory_.data();
  };
  const ExampleShape& s = shape_;
  nlohmann::ordered_json out = {{"variant", variant_.name()},
                                {"b", s.batch},
                                {"hq", s.heads},
                                {"hkv", s.kv_heads},
                                {"sq", s.q_len},
                                {"skv", s.kv_len},
                                {"d_qk", s.d_qk},
                                {"d_v", s.d_v},
                                {"scale", 1 / std::sqrt(static_cast<double>(s.d_qk))},
                                {"size", memory_.size()},
                                {"q", offset(call_.q)},
                                {"k", offset(call_.k)},
                                {"v", offset(call_.v)},
                                {"out", offset(call_.out)}};
  out["parameters"] = nlohmann::ordered_json::object();
  for (const auto& p : variant_.parameters()) {
    if (p->kind == Parameter::Kind::Scalar)
      out["parameters"][p->name] = parameters_.values().at(p->name).scalar;
  }
  for (const auto& [name, at] : tables_) {
    const Parameter& p = *variant_.find_parameter(name);
    const fovea_table& table = parameters_.values().at(name).table;
    nlohmann::ordered_json& row = out["parameters"][name];
    row["dtype"] = p.type.is_float() ? "f32" : p.type.is_int() ? "i32" : "u8";
    row["offset"] = at;
    for (size_t axis = 0; axis < p.axes.size(); ++axis) row["extent"].push_back(table.extent[axis]);
  }
  return out;
}

}  // namespace fovea::bench
