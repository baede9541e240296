// reference.cpp: two-pass softmax attention evaluated from a declaration, in double or in plain
// f32. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/reference.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "input_rows.h"

namespace fovea {
namespace {

using detail::InputRows;

double table_entry(const fovea_table& table, Halide::Type type,
                   const std::vector<int64_t>& indices) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    offset += std::clamp<int64_t>(indices[axis], 0, table.extent[axis] - 1) * table.stride[axis];
  }
  return type.is_float() ? static_cast<double>(static_cast<const float*>(table.data)[offset])
                         : static_cast<double>(static_cast<const int32_t*>(table.data)[offset]);
}

void check_table(const Parameter& parameter, const fovea_table& table) {
  for (size_t axis = 0; axis < parameter.axes.size(); ++axis) {
    if (table.data == nullptr || table.extent[axis] < 1) {
      throw std::invalid_argument("fovea: table '" + parameter.name + "' has no entries");
    }
  }
}

// The scalars and tables of a variant as the interpreter wants them. `values` must outlive the
// environment.
template <typename Real>
Environment<Real> bind_parameters(const Variant& variant, const ParameterValues& values) {
  Environment<Real> environment;
  std::map<std::string, std::pair<Halide::Type, const fovea_table*>> tables;
  for (const auto& parameter : variant.parameters()) {
    const auto found = values.find(parameter->name);
    if (found == values.end()) {
      throw std::invalid_argument("fovea: parameter '" + parameter->name + "' of variant '" +
                                  variant.name() + "' has no value");
    }
    if (parameter->kind == Parameter::Kind::Table) {
      check_table(*parameter, found->second.table);
      tables[parameter->name] = {parameter->type, &found->second.table};
    } else if (parameter->type.is_float()) {
      environment.variables[parameter->name] =
          Lanes<Real>::real(static_cast<Real>(found->second.scalar));
    } else {
      environment.variables[parameter->name] =
          Lanes<Real>::integer(static_cast<int64_t>(found->second.scalar));
    }
  }
  environment.table = [tables = std::move(tables)](const std::string& name,
                                                   const std::vector<int64_t>& indices) {
    const auto& [type, table] = tables.at(name);
    return table_entry(*table, type, indices);
  };
  return environment;
}

// One call at one precision. The order of the loops lets 16-bit keys and values be widened once per
// KV head.
template <typename Real>
class Attention {
 public:
  Attention(const Variant& variant, const fovea_call& call, const ParameterValues& values)
      : call_(call),
        heads_(call.q.extent[1]),
        rows_(call.q.extent[2]),
        d_qk_(call.q.extent[3]),
        d_v_(call.v.extent[3]),
        scale_(call.scale != nullptr ? static_cast<Real>(*call.scale)
                                     : 1 / std::sqrt(static_cast<Real>(d_qk_))),
        score_(Halide::Internal::substitute_in_all_lets(variant.score_chain())),
        mask_(Halide::Internal::substitute_in_all_lets(variant.mask())),
        mask_environment_(bind_parameters<Real>(variant, values)),
        score_environment_(mask_environment_) {}

  ReferenceResult run(int64_t row_step) {
    ReferenceResult result;
    result.batch = call_.q.extent[0];
    result.heads = heads_;
    result.rows = rows_;
    result.d_v = d_v_;
    const auto count = static_cast<size_t>(result.batch * heads_ * rows_);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    result.out.assign(count * static_cast<size_t>(d_v_), nan);
    result.lse.assign(count, nan);
    result.computed.assign(count, 0);
    for (int64_t b = 0; b < result.batch; ++b) sequence_(b, std::max<int64_t>(row_step, 1), result);
    return result;
  }

 private:
  void sequence_(int64_t b, int64_t row_step, ReferenceResult& result) {
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
      const InputRows k(call_.k, b, kh, kv_len);
      const InputRows v(call_.v, b, kh, kv_len);
      for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
        const InputRows q(call_.q, b, h, q_len);
        bind_("head", h);
        bind_("kv_head", kh);
        for (int64_t i = 0; i < q_len; i = next_row_(i, row_step, q_len)) {
          bind_("q", q_offset + i);
          const auto at = static_cast<size_t>((b * heads_ + h) * rows_ + i);
          row_(q.row(i), k, v, &result.out[at * static_cast<size_t>(d_v_)], &result.lse[at]);
          result.computed[at] = 1;
        }
      }
    }
  }

  // Every step-th row and the last one.
  static int64_t next_row_(int64_t i, int64_t step, int64_t q_len) {
    return i < q_len - 1 ? std::min(i + step, q_len - 1) : q_len;
  }

  void bind_(const char* name, int64_t value) {
    mask_environment_.variables[name] = Lanes<Real>::integer(value);
    score_environment_.variables[name] = Lanes<Real>::integer(value);
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

  void row_(const float* q, const InputRows& k, const InputRows& v, double* out, double* log_sum) {
    std::fill_n(out, d_v_, 0.0);
    *log_sum = -std::numeric_limits<double>::infinity();
    const std::vector<int64_t> visible = visible_keys_();
    if (visible.empty()) return;
    std::vector<Real> weights = scores_(q, k, visible);

    // std::max would drop a NaN or not depending on the order; here it always survives into the sum
    // below.
    Real largest = -std::numeric_limits<Real>::infinity();
    bool has_nan = false;
    for (const Real s : weights) {
      has_nan = has_nan || std::isnan(s);
      if (s > largest) largest = s;
    }
    if (!has_nan && largest == -std::numeric_limits<Real>::infinity()) return;

    Real sum = 0;
    for (Real& w : weights) {
      w = std::exp(w - largest);
      sum += w;
    }
    std::vector<Real> row(static_cast<size_t>(d_v_), Real(0));
    for (size_t i = 0; i < visible.size(); ++i) {
      const float* value = v.row(visible[i]);
      for (size_t d = 0; d < row.size(); ++d) row[d] += weights[i] * static_cast<Real>(value[d]);
    }
    // Divided last, so that equal weights give the mean of V without rounding them first.
    for (size_t d = 0; d < row.size(); ++d) out[d] = static_cast<double>(row[d] / sum);
    *log_sum = static_cast<double>(largest + std::log(sum));
  }

  std::vector<Real> scores_(const float* q, const InputRows& k,
                            const std::vector<int64_t>& visible) {
    std::vector<Real> products = products_(q, k, visible);
    for (Real& s : products) s *= scale_;
    score_environment_.lanes = visible.size();
    score_environment_.variables["k"] = Lanes<Real>{false, {}, visible};
    score_environment_.variables["score"] = Lanes<Real>{true, std::move(products), {}};
    std::vector<Real> scores = evaluate(score_, score_environment_).reals;
    if (scores.size() != visible.size()) scores.assign(visible.size(), scores.at(0));
    return scores;
  }

  // Every product is summed in feature order. Four keys at a time, because one running sum waits
  // for each addition.
  std::vector<Real> products_(const float* q, const InputRows& k,
                              const std::vector<int64_t>& visible) const {
    constexpr size_t block = 4;
    const std::vector<Real> query(q, q + d_qk_);
    std::vector<Real> products(visible.size());
    for (size_t first = 0; first < visible.size(); first += block) {
      const float* key[block];
      Real sum[block] = {};
      for (size_t j = 0; j < block; ++j) {
        key[j] = k.row(visible[std::min(first + j, visible.size() - 1)]);
      }
      for (size_t d = 0; d < query.size(); ++d) {
        for (size_t j = 0; j < block; ++j) sum[j] += query[d] * static_cast<Real>(key[j][d]);
      }
      std::copy_n(sum, std::min(block, visible.size() - first), &products[first]);
    }
    return products;
  }

  const fovea_call& call_;
  int64_t heads_, rows_, d_qk_, d_v_;
  Real scale_;
  Expr score_, mask_;
  Environment<Real> mask_environment_, score_environment_;
};

template <typename T>
T read_field(const char* params, size_t& offset) {
  offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
  T value{};
  std::memcpy(&value, params + offset, sizeof(T));
  offset += sizeof(T);
  return value;
}

}  // namespace

ParameterValues parameter_values(const Variant& variant, const void* params) {
  ParameterValues values;
  if (params == nullptr && !variant.parameters().empty()) {
    throw std::invalid_argument("fovea: variant '" + variant.name() +
                                "' has parameters, and params is NULL");
  }
  size_t offset = 0;
  for (const auto& parameter : variant.parameters()) {
    const auto* bytes = static_cast<const char*>(params);
    ParameterValue& value = values[parameter->name];
    if (parameter->kind == Parameter::Kind::Table) {
      value.table = read_field<fovea_table>(bytes, offset);
    } else if (parameter->type.is_float()) {
      value.scalar = read_field<float>(bytes, offset);
    } else {
      value.scalar = read_field<int32_t>(bytes, offset);
    }
  }
  return values;
}

ReferenceResult reference_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options) {
  return Attention<double>(variant, call, values).run(options.row_step);
}

ReferenceResult plain_f32_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options) {
  return Attention<float>(variant, call, values).run(options.row_step);
}

}  // namespace fovea
