// reference.cpp: attention evaluated from a declaration, in double or as plainly as one can in
// the type of the inputs: the loops over a call and what happens to one row.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/reference.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "input_rows.h"
#include "reference_epilogue.h"
#include "reference_parameters.h"
#include "reference_rows.h"
#include "reference_weights.h"

namespace fovea {
namespace {

using detail::HeadRows;
using detail::InputRows;
using detail::RowWeights;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// One call at one precision. The order of the loops lets 16-bit keys and values be widened, and
// transformed, once per KV head.
template <typename Real>
class Attention {
 public:
  Attention(const Variant& variant, const fovea_call& call, const ParameterValues& values,
            const ReferenceOptions& options)
      : variant_(variant),
        call_(call),
        dtype_(call.q.dtype),
        heads_(call.q.extent[1]),
        rows_(call.q.extent[2]),
        slice_features_(call.q.extent[3] / variant.slice_count()),
        d_qk_(call.q.extent[3]),
        d_v_(call.v.extent[3]),
        row_step_(std::max<int64_t>(options.row_step, 1)),
        magnitudes_(options.magnitudes),
        scale_(call.scale != nullptr ? static_cast<Real>(*call.scale)
                                     : 1 / std::sqrt(static_cast<Real>(slice_features_))),
        score_(Halide::Internal::substitute_in_all_lets(variant.score_chain())),
        mask_(Halide::Internal::substitute_in_all_lets(variant.mask())),
        mask_environment_(detail::bind_parameters<Real>(variant, values)),
        score_environment_(mask_environment_),
        row_environment_(mask_environment_) {
    if (d_qk_ % variant.slice_count() != 0) {
      throw std::invalid_argument("fovea: variant '" + variant.name() + "' cuts rows into " +
                                  std::to_string(variant.slice_count()) +
                                  " equal slices, and d_qk is " + std::to_string(d_qk_));
    }
  }

  ReferenceResult run() {
    ReferenceResult& r = result_;
    r.batch = call_.q.extent[0];
    r.heads = heads_;
    r.rows = rows_;
    r.d_v = d_v_;
    r.keys = call_.k.extent[2];
    const auto count = static_cast<size_t>(r.batch * heads_ * rows_);
    const size_t per_key = count * static_cast<size_t>(r.keys);
    const bool has_sum = variant_.returns(Output::RowSum);
    const bool has_probabilities = variant_.returns(Output::Probabilities);
    r.out.assign(count * static_cast<size_t>(d_v_), nan);
    r.lse.assign(count, nan);
    r.computed.assign(count, 0);
    if (variant_.returns(Output::RowMax)) r.row_max.assign(count, nan);
    if (has_sum) r.row_sum.assign(count, nan);
    if (has_probabilities) r.probabilities.assign(per_key, nan);
    if (magnitudes_) {
      r.out_magnitude.assign(r.out.size(), nan);
      r.score_magnitude.assign(count, nan);
      if (has_sum) r.row_sum_magnitude.assign(count, nan);
      if (has_probabilities) r.probability_magnitude.assign(per_key, nan);
    }
    for (int64_t b = 0; b < r.batch; ++b) sequence_(b);
    return std::move(result_);
  }

 private:
  void sequence_(int64_t b) {
    const int64_t q_len = call_.q_len != nullptr ? call_.q_len[b] : rows_;
    const int64_t kv_len = call_.kv_len != nullptr ? call_.kv_len[b] : call_.k.extent[2];
    const int64_t q_offset = call_.q_offset != nullptr ? call_.q_offset[b] : kv_len - q_len;
    const int64_t kv_heads = call_.k.extent[1];
    const int64_t group = heads_ / kv_heads;
    bind_("batch", b);
    bind_("q_len", q_len);
    bind_("kv_len", kv_len);
    std::vector<int64_t> keys(static_cast<size_t>(kv_len));
    for (size_t k = 0; k < keys.size(); ++k) keys[k] = static_cast<int64_t>(k);
    mask_environment_.lanes = keys.size();
    mask_environment_.variables["k"] = Lanes<Real>{false, {}, std::move(keys)};

    for (int64_t kh = 0; kh < kv_heads; ++kh) {
      bind_("kv_head", kh);
      const InputRows stored_k(call_.k, b, kh, kv_len);
      const InputRows stored_v(call_.v, b, kh, kv_len);
      const HeadRows<Real> k(stored_k, kv_len, d_qk_, dtype_, variant_.key_steps(),
                             row_environment_);
      const HeadRows<Real> v(stored_v, kv_len, d_v_, dtype_, variant_.value_steps(),
                             row_environment_);
      if (magnitudes_) largest_key_ = largest_norm_(k, kv_len);
      for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
        const InputRows q(call_.q, b, h, q_len);
        bind_("head", h);
        for (int64_t i = 0; i < q_len; i = next_row_(i, row_step_, q_len)) {
          bind_("q", q_offset + i);
          bind_("row", i);
          row_(q.row(i), k, v, static_cast<size_t>((b * heads_ + h) * rows_ + i));
        }
      }
    }
  }

  // Every step-th row and the last one.
  static int64_t next_row_(int64_t i, int64_t step, int64_t q_len) {
    return i < q_len - 1 ? std::min(i + step, q_len - 1) : q_len;
  }

  void bind_(const char* name, int64_t value) {
    for (Environment<Real>* e : {&mask_environment_, &score_environment_, &row_environment_}) {
      e->variables[name] = Lanes<Real>::integer(value);
    }
  }

  // Hidden keys are dropped before their score exists, so nothing in their rows of K and V can
  // reach the result.
  std::vector<int64_t> visible_keys_() const {
    const std::vector<int64_t>& keys = mask_environment_.variables.at("k").integers;
    if (keys.empty()) return {};
    const std::vector<int64_t> mask = evaluate(mask_, mask_environment_).integers;
    if (mask.size() == 1) return mask[0] != 0 ? keys : std::vector<int64_t>();
    std::vector<int64_t> visible;
    for (size_t k = 0; k < keys.size(); ++k) {
      if (mask[k] != 0) visible.push_back(keys[k]);
    }
    return visible;
  }

  void row_(const float* stored, const HeadRows<Real>& k, const HeadRows<Real>& v, size_t at) {
    result_.computed[at] = 1;
    std::vector<Real> query(stored, stored + d_qk_);
    detail::transform_row(variant_.query_steps(), row_environment_, query);
    detail::keep(dtype_, query);
    const std::vector<int64_t> visible = visible_keys_();
    score_environment_.lanes = std::max<size_t>(visible.size(), 1);
    score_environment_.variables["k"] = Lanes<Real>{false, {}, visible};
    const std::vector<Real> factors = factors_(visible);

    std::vector<std::vector<Real>> outputs, magnitudes;
    for (int64_t first = 0; first < d_qk_; first += slice_features_) {
      const std::vector<Real> scores = scores_(query, first, k, visible);
      const RowWeights<Real> weights =
          detail::row_weights(variant_, scores, score_environment_, magnitudes_);
      outputs.push_back(weighted_values_(weights, factors, visible, v));
      if (magnitudes_) {
        magnitudes.push_back(value_magnitudes_(weights, factors, visible, v, outputs.back()));
        note_scores_(weights, scores, query, at);
      }
      if (variant_.slice_count() == 1) extra_outputs_(weights, visible, at);
    }
    finish_row_(outputs, magnitudes, at);
  }

  // Empty: all 1.
  std::vector<Real> factors_(const std::vector<int64_t>& visible) const {
    if (!variant_.weight_factor().defined() || visible.empty()) return {};
    return detail::evaluate_reals(variant_.weight_factor(), score_environment_);
  }

  std::vector<Real> scores_(const std::vector<Real>& query, int64_t first, const HeadRows<Real>& k,
                            const std::vector<int64_t>& visible) {
    if (visible.empty()) return {};
    std::vector<Real> products(visible.size());
    k.visit([&](auto row) {
      products_(&query[static_cast<size_t>(first)], first, row, visible, products);
    });
    for (Real& s : products) s *= scale_;
    score_environment_.variables["score"] = Lanes<Real>{true, std::move(products), {}};
    return detail::evaluate_reals(score_, score_environment_);
  }

  // Every product is summed in feature order. Four keys at a time, because one running sum waits
  // for each addition.
  template <typename RowOf>
  void products_(const Real* query, int64_t first_feature, RowOf row,
                 const std::vector<int64_t>& visible, std::vector<Real>& products) const {
    constexpr size_t block = 4;
    const auto features = static_cast<size_t>(slice_features_);
    for (size_t first = 0; first < visible.size(); first += block) {
      decltype(row(0)) key[block];
      Real sum[block] = {};
      for (size_t j = 0; j < block; ++j) {
        key[j] = row(visible[std::min(first + j, visible.size() - 1)]) + first_feature;
      }
      for (size_t d = 0; d < features; ++d) {
        for (size_t j = 0; j < block; ++j) sum[j] += query[d] * static_cast<Real>(key[j][d]);
      }
      std::copy_n(sum, std::min(block, visible.size() - first), &products[first]);
    }
  }

  std::vector<Real> weighted_values_(const RowWeights<Real>& w, const std::vector<Real>& factors,
                                     const std::vector<int64_t>& visible,
                                     const HeadRows<Real>& v) const {
    std::vector<Real> row(static_cast<size_t>(d_v_), Real(0));
    if (w.is_empty) return row;
    Real* const out = row.data();
    const size_t features = row.size();
    v.visit([&](auto value_row) {
      for (size_t i = 0; i < visible.size(); ++i) {
        const auto* value = value_row(visible[i]);
        const Real weight =
            detail::kept(dtype_, factors.empty() ? w.weights[i] : w.weights[i] * factors[i]);
        for (size_t d = 0; d < features; ++d) out[d] += weight * static_cast<Real>(value[d]);
      }
    });
    // Divided last, so that equal weights give the mean of V without rounding them first.
    for (Real& x : row) x /= w.divisor;
    return row;
  }

  std::vector<Real> value_magnitudes_(const RowWeights<Real>& w, const std::vector<Real>& factors,
                                      const std::vector<int64_t>& visible, const HeadRows<Real>& v,
                                      const std::vector<Real>& output) const {
    std::vector<Real> row(static_cast<size_t>(d_v_), Real(0));
    if (w.is_empty) return row;
    Real* const out = row.data();
    const size_t features = row.size();
    v.visit([&](auto value_row) {
      for (size_t i = 0; i < visible.size(); ++i) {
        const auto* value = value_row(visible[i]);
        const Real weight = factors.empty() ? w.sensitivity[i] : w.sensitivity[i] * factors[i];
        for (size_t d = 0; d < features; ++d) {
          out[d] += std::abs(weight * static_cast<Real>(value[d]));
        }
      }
    });
    for (size_t d = 0; d < row.size(); ++d) {
      row[d] = row[d] / std::abs(w.divisor) + std::abs(output[d]) * w.divisor_sensitivity;
    }
    return row;
  }

  void note_scores_(const RowWeights<Real>& w, const std::vector<Real>& scores,
                    const std::vector<Real>& query, size_t at) {
    double size = std::isfinite(w.lse) ? std::abs(static_cast<double>(w.lse)) : 0;
    if (variant_.normalizer() == Normalizer::Kind::Weights) {
      for (const Real s : scores) {
        if (std::isfinite(s)) size = std::max(size, std::abs(static_cast<double>(s)));
      }
    }
    double& known = result_.score_magnitude[at];
    known = std::isnan(known) ? size : std::max(known, size);
    const double product = std::abs(static_cast<double>(scale_)) *
                           detail::norm(query.data(), query.size()) * largest_key_;
    if (std::isfinite(product)) {
      result_.product_magnitude = std::max(result_.product_magnitude, product);
    }
  }

  double largest_norm_(const HeadRows<Real>& rows, int64_t count) const {
    double largest = 0;
    rows.visit([&](auto row) {
      for (int64_t k = 0; k < count; ++k) {
        const double norm = detail::norm(row(k), static_cast<size_t>(d_qk_));
        if (std::isfinite(norm)) largest = std::max(largest, norm);
      }
    });
    return largest;
  }

  void extra_outputs_(const RowWeights<Real>& w, const std::vector<int64_t>& visible, size_t at) {
    ReferenceResult& r = result_;
    r.lse[at] = static_cast<double>(w.lse);
    if (!r.row_max.empty()) r.row_max[at] = static_cast<double>(w.largest);
    if (!r.row_sum.empty()) r.row_sum[at] = static_cast<double>(w.sum);
    if (!r.row_sum_magnitude.empty()) {
      double size = 0;
      for (const Real s : w.sensitivity) size += static_cast<double>(s);
      r.row_sum_magnitude[at] = std::max(size, std::abs(static_cast<double>(w.sum)));
    }
    const size_t first = at * static_cast<size_t>(r.keys);
    const auto put = [&](std::vector<double>& to, const std::vector<Real>& from, auto f) {
      if (to.empty()) return;
      std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(first), mask_environment_.lanes, 0.0);
      if (w.is_empty) return;
      for (size_t i = 0; i < visible.size(); ++i) {
        to[first + static_cast<size_t>(visible[i])] = static_cast<double>(f(from[i]));
      }
    };
    put(r.probabilities, w.weights, [&](Real x) { return x / w.divisor; });
    put(r.probability_magnitude, w.sensitivity,
        [&](Real x) { return std::abs(x / w.divisor) * (1 + w.divisor_sensitivity); });
  }

  // Combines the slices, transforms the normalised row and stores it.
  void finish_row_(std::vector<std::vector<Real>>& outputs,
                   const std::vector<std::vector<Real>>& magnitudes, size_t at) {
    const size_t first = at * static_cast<size_t>(d_v_);
    const detail::RowEpilogue<Real> epilogue(variant_, row_environment_);
    if (magnitudes_) {
      const std::vector<Real> sizes = epilogue.magnitudes(outputs, magnitudes);
      std::copy(sizes.begin(), sizes.end(), &result_.out_magnitude[first]);
    }
    std::vector<Real> row = epilogue.apply(std::move(outputs));
    detail::keep(dtype_, row);
    for (size_t d = 0; d < row.size(); ++d) result_.out[first + d] = static_cast<double>(row[d]);
  }

  const Variant& variant_;
  const fovea_call& call_;
  fovea_dtype dtype_;
  int64_t heads_, rows_, slice_features_, d_qk_, d_v_, row_step_;
  bool magnitudes_;
  Real scale_;
  Expr score_, mask_;
  // A lane is a key in the first two, a feature in the third.
  Environment<Real> mask_environment_, score_environment_, row_environment_;
  double largest_key_ = 0;
  ReferenceResult result_;
};

}  // namespace

ReferenceResult reference_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options) {
  return Attention<double>(variant, call, values, options).run();
}

ReferenceResult plain_attention(const Variant& variant, const fovea_call& call,
                                const ParameterValues& values, const ReferenceOptions& options) {
  return Attention<float>(variant, call, values, options).run();
}

}  // namespace fovea
