// kernel_trial.cpp: random inputs, the accuracy rule, the clock.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/half_precision.h>
#include <fovea/dsl/kernel_trial.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "reference_parameters.h"

namespace fovea {
namespace {

std::vector<unsigned char> random_numbers(int64_t count, fovea_dtype dtype, std::mt19937& random) {
  // Of variance 1, as a normalised projection leaves them.
  std::uniform_real_distribution<float> uniform(-1.7320508f, 1.7320508f);
  const auto size = static_cast<size_t>(element_size(dtype));
  std::vector<unsigned char> numbers(static_cast<size_t>(count) * size);
  for (size_t at = 0; at < numbers.size(); at += size) {
    store_element(&numbers[at], dtype, uniform(random));
  }
  return numbers;
}

fovea_tensor dense(void* data, fovea_dtype dtype, int64_t batch, int64_t heads, int64_t rows,
                   int64_t features) {
  fovea_tensor t{};
  t.data = data;
  t.dtype = dtype;
  const int64_t extent[4] = {batch, heads, rows, features};
  int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    t.extent[axis] = extent[axis];
    t.stride[axis] = stride;
    stride *= extent[axis];
  }
  return t;
}

// The largest errors of one output, and the element that is furthest from what is allowed.
struct Comparison {
  explicit Comparison(fovea_dtype dtype) : dtype_(dtype) {}

  double error = 0, plain_error = 0, largest = 0;
  size_t at = 0;

  void add(size_t index, double got, double exact, double plain) {
    if (!std::isfinite(exact)) {
      const bool same = std::isnan(exact) ? std::isnan(got) : got == exact;
      if (!same) error = HUGE_VAL, at = index;
      return;
    }
    const double e = std::isnan(got) ? HUGE_VAL : std::abs(got - exact);
    if (e > error) error = e, at = index;
    if (std::isfinite(plain)) plain_error = std::max(plain_error, std::abs(plain - exact));
    largest = std::max(largest, std::abs(exact));
  }
  double allowed() const {
    const double roundings =
        64 * unit_roundoff(FOVEA_F32) + (dtype_ == FOVEA_F32 ? 0 : 4 * unit_roundoff(dtype_));
    return std::max(2 * plain_error, roundings * largest);
  }
  bool passed() const { return error <= allowed(); }
  double share() const { return error == 0 ? 0 : error / allowed(); }

 private:
  fovea_dtype dtype_;
};

}  // namespace

KernelTrial::KernelTrial(const Variant& variant, const ExampleShape& shape, Kernel kernel,
                         fovea_dtype dtype, uint32_t seed)
    : variant_(variant), shape_(shape), kernel_(std::move(kernel)), parameters_(variant, shape) {
  std::mt19937 random(seed);
  const ExampleShape& s = shape_;
  q_ = random_numbers(s.batch * s.heads * s.q_len * s.d_qk, dtype, random);
  k_ = random_numbers(s.batch * s.kv_heads * s.kv_len * s.d_qk, dtype, random);
  v_ = random_numbers(s.batch * s.kv_heads * s.kv_len * s.d_v, dtype, random);
  out_.resize(static_cast<size_t>(s.batch * s.heads * s.q_len * s.d_v));
  stored_out_.resize(out_.size() * static_cast<size_t>(element_size(dtype)));
  call_.size = sizeof call_;
  call_.q = dense(q_.data(), dtype, s.batch, s.heads, s.q_len, s.d_qk);
  call_.k = dense(k_.data(), dtype, s.batch, s.kv_heads, s.kv_len, s.d_qk);
  call_.v = dense(v_.data(), dtype, s.batch, s.kv_heads, s.kv_len, s.d_v);
  call_.out = dense(stored_out_.data(), dtype, s.batch, s.heads, s.q_len, s.d_v);
  if (variant.returns_lse()) {
    lse_.resize(static_cast<size_t>(s.batch * s.heads * s.q_len));
    call_.lse = dense(lse_.data(), FOVEA_F32, s.batch, s.heads, s.q_len, 1);
  }
}

void KernelTrial::run_() {
  const std::string refusal = kernel_(&call_, parameters_.data());
  if (!refusal.empty()) throw std::runtime_error(refusal);
}

void KernelTrial::read_out_() {
  const fovea_dtype dtype = call_.out.dtype;
  const auto size = static_cast<size_t>(element_size(dtype));
  for (size_t i = 0; i < out_.size(); ++i) out_[i] = load_element(&stored_out_[i * size], dtype);
}

KernelTrial::Report KernelTrial::check(int64_t row_step) {
  // What is not written shall not look right.
  const auto size = static_cast<size_t>(element_size(call_.out.dtype));
  for (size_t at = 0; at < stored_out_.size(); at += size) {
    store_element(&stored_out_[at], call_.out.dtype, std::numeric_limits<float>::infinity());
  }
  std::fill(lse_.begin(), lse_.end(), std::numeric_limits<float>::infinity());
  run_();
  read_out_();
  const ReferenceOptions options{.row_step = row_step};
  const ReferenceResult exact = reference_attention(variant_, call_, parameters_.values(), options);
  const ReferenceResult plain = plain_attention(variant_, call_, parameters_.values(), options);
  Comparison out_errors(call_.out.dtype), lse_errors(FOVEA_F32);
  const auto d_v = static_cast<size_t>(shape_.d_v);
  for (size_t row = 0; row < exact.computed.size(); ++row) {
    if (!exact.computed[row]) continue;
    for (size_t i = row * d_v; i < (row + 1) * d_v; ++i)
      out_errors.add(i, out_[i], exact.out[i], plain.out[i]);
    if (!lse_.empty()) lse_errors.add(row, lse_[row], exact.lse[row], plain.lse[row]);
  }
  Report report;
  report.passed = out_errors.passed() && lse_errors.passed();
  const bool is_out = out_errors.share() >= lse_errors.share();
  const Comparison& worst = is_out ? out_errors : lse_errors;
  report.error = worst.error;
  report.allowed = worst.allowed();
  report.text = fmt::format("{}: largest error {:.2g}, allowed {:.2g}", variant_.name(),
                            report.error, report.allowed);
  if (!report.passed) {
    const auto row = static_cast<int64_t>(is_out ? worst.at / d_v : worst.at);
    report.text +=
        fmt::format("; {} of sequence {}, head {}, row {}{} is {}, the declaration gives {}",
                    is_out ? "out" : "lse", row / shape_.q_len / shape_.heads,
                    row / shape_.q_len % shape_.heads, row % shape_.q_len,
                    is_out ? fmt::format(", feature {}", worst.at % d_v) : "",
                    is_out ? out_[worst.at] : lse_[worst.at],
                    is_out ? exact.out[worst.at] : exact.lse[worst.at]);
  }
  return report;
}

double KernelTrial::time(int repetitions) {
  run_();
  std::vector<double> seconds;
  for (int i = 0; i < std::max(repetitions, 1); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run_();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  read_out_();
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

double KernelTrial::useful_flops() const {
  const Expr mask = Halide::Internal::substitute_in_all_lets(variant_.mask());
  Environment<double> env = detail::bind_parameters<double>(variant_, parameters_.values());
  std::vector<int64_t> keys(static_cast<size_t>(shape_.kv_len));
  std::iota(keys.begin(), keys.end(), int64_t{0});
  env.lanes = keys.size();
  env.variables["k"] = Lanes<double>{false, {}, std::move(keys)};
  const auto set = [&](const char* name, int64_t value) {
    env.variables[name] = Lanes<double>::integer(value);
  };
  set("q_len", shape_.q_len);
  set("kv_len", shape_.kv_len);
  // One head of one sequence stands for all where the mask does not ask for them.
  const auto asks = [&](const char* name) { return Halide::Internal::expr_uses_var(mask, name); };
  const int64_t batches = asks("batch") ? shape_.batch : 1,
                heads = asks("head") || asks("kv_head") ? shape_.heads : 1;
  int64_t pairs = 0;
  for (int64_t b = 0; b < batches; ++b) {
    set("batch", b);
    for (int64_t h = 0; h < heads; ++h) {
      set("head", h);
      set("kv_head", h / (shape_.heads / shape_.kv_heads));
      for (int64_t row = 0; row < shape_.q_len; ++row) {
        set("row", row);
        set("q", row + shape_.kv_len - shape_.q_len);
        const std::vector<int64_t> visible = evaluate(mask, env).integers;
        pairs += visible.size() == 1 ? (visible[0] ? shape_.kv_len : 0)
                                     : std::count_if(visible.begin(), visible.end(),
                                                     [](int64_t x) { return x != 0; });
      }
    }
  }
  pairs *= shape_.batch * shape_.heads / (batches * heads);
  return 2.0 * static_cast<double>(shape_.d_qk + shape_.d_v) * static_cast<double>(pairs);
}

}  // namespace fovea
