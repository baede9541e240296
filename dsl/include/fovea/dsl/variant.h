// variant.h: an attention variant as a value.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_VARIANT_H
#define FOVEA_DSL_VARIANT_H

#include <fovea/dsl/masks.h>
#include <fovea/dsl/normalizer.h>
#include <fovea/dsl/parameter.h>
#include <fovea/dsl/position.h>
#include <fovea/dsl/row.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace fovea {

namespace detail {
struct Scope;
}

// Outputs besides the attention itself, all f32. With m the largest logit of a row and l the sum of
// e^(logit - m), a sink counted in both: lse = m + ln l, row_max = m, row_sum = l. A row without
// any key (and sink): -inf, -inf, 0.
enum class Output { Lse, RowMax, RowSum, Probabilities };
inline constexpr Output lse = Output::Lse;         // (batch, head, row), natural logarithm
inline constexpr Output row_max = Output::RowMax;  // (batch, head, row)
inline constexpr Output row_sum =
    Output::RowSum;  // (batch, head, row); of weights: their plain sum
// (batch, head, row, key): the normalised weights, for inspection. Costs as much as the attention
// itself, and memory in proportion to Sq * Skv, which the caller provides.
inline constexpr Output probabilities = Output::Probabilities;

// out(b,h,q,:) = output(sum_k w(q,k) value(v(b,kh,k,:))),
// w = softmax over visible k of steps(scale * <query(q), key(k)>), or another normalizer.
// Row transforms come before the product, each in the order of its declarations. The score steps
// are applied in the order of their declaration to the scaled score, the masks last: a hidden key
// has weight exactly 0 whatever its row holds. Everything else (pipelines, reference, C interface,
// tests, documentation, hash) is derived from this.
class Variant {
 public:
  explicit Variant(std::string name, std::string file = "", int line = 0);

  // One line each. What the variant is; where it comes from (paper, model or convention); the
  // heading it stands under in the catalogue; where it differs from its published form.
  void summary(std::string text);
  void source(std::string text);
  void family(std::string text);
  void note(std::string text);  // any number of them

  // Run-time parameters. The name is an identifier, unique in the variant, and becomes a field of
  // its params structure.
  template <typename T>
  Scalar<T> scalar(const std::string& name) {
    return Scalar<T>(name_,
                     add_parameter_(name, Parameter::Kind::Scalar, Halide::type_of<T>(), {}));
  }
  template <typename T>
  Table<T> table(const std::string& name, std::initializer_list<Axis> axes) {
    // One byte for a bool, as in memory.
    const Halide::Type type = std::is_same_v<T, bool> ? Halide::UInt(8) : Halide::type_of<T>();
    return Table<T>(name_, add_parameter_(name, Parameter::Kind::Table, type, axes));
  }

  // Row transforms: f(row, d, p) is the new entry of feature d. Several are applied in order; each
  // sees the rows the one before made. query and output see the position of the query (p.q, p.row,
  // p.head, …), key and value that of the key (p.k, p.kv_head, …). output sees the normalised row.
  void query(const RowTransform& transform);
  void key(const RowTransform& transform);
  void value(const RowTransform& transform);
  void output(const RowTransform& transform);

  // step(s, p): Float(32) from the score so far. Several steps are applied in order.
  void score(const std::function<Expr(Expr, const Position&)>& step);

  // True where the key is visible. Several masks are AND-ed.
  void keep(const Mask& mask);

  // How scores become weights; softmax() if never called.
  void normalize(const Normalizer& normalizer);

  // factor(p) multiplies the normalised weight of a key in the sum of values, and nothing else
  // (dropout).
  void weight_factor(const std::function<Expr(const Position&)>& factor);

  // Query and key rows fall into `count` equal slices of features; each slice makes scores and
  // weights of its own over the same values, with scale 1/sqrt(d_qk / count) by default, and
  // combine(o, p) makes one output entry of the `count` entries of the same feature (differential
  // attention).
  using Combine = std::function<Expr(const std::vector<Expr>& outputs, const Position&)>;
  void slices(int count, const Combine& combine);

  void returns(Output output);

  const std::string& name() const { return name_; }
  const std::string& summary_text() const { return summary_; }
  const std::string& source_text() const { return source_; }
  const std::string& family_text() const { return family_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::vector<std::shared_ptr<Parameter>>& parameters() const { return parameters_; }
  const Parameter* find_parameter(const std::string& name) const;

  // In terms of symbolic_score() and symbolic_position().
  const std::vector<Expr>& score_steps() const { return score_steps_; }
  Expr score_chain() const;  // all steps composed; symbolic_score() itself when there are none
  Expr mask() const;         // conjunction of all masks; const true when there are none
  bool returns(Output output) const { return outputs_.count(output) != 0; }
  bool returns_lse() const { return returns(Output::Lse); }

  // Row transforms over row_calls, symbolic_feature() and the position.
  const std::vector<Expr>& query_steps() const { return query_steps_; }
  const std::vector<Expr>& key_steps() const { return key_steps_; }
  const std::vector<Expr>& value_steps() const { return value_steps_; }
  const std::vector<Expr>& output_steps() const { return output_steps_; }

  // Parts of the normalizer, undefined where not declared: the sink logit (softmax), the weight as
  // a function of symbolic_score(), the divisor of symbolic_weight_sum().
  Normalizer::Kind normalizer() const { return normalizer_; }
  const Expr& sink_logit() const { return sink_; }
  const Expr& weight() const { return weight_; }
  const Expr& divisor() const { return divisor_; }
  const Expr& weight_factor() const { return weight_factor_; }

  int slice_count() const { return slice_count_; }          // 1: no slices
  const Expr& combination() const { return combination_; }  // of symbolic_slice(i)
  static Expr symbolic_slice(int i);

  // The declaration as text, one statement a line; equal texts mean equal kernels. Stable across
  // runs and machines.
  std::string canonical_text() const;
  uint64_t hash() const;  // FNV-1a of canonical_text()

  // What a cache holds follows from the transforms of keys and values alone: their statements and
  // those of the parameters they ask for, and which of parameters() these are.
  std::string cached_text() const;
  std::vector<size_t> cached_parameters() const;

  // Whole-variant rules (a declared parameter that nothing uses, …). Throws DeclarationError.
  void check() const;

 private:
  std::shared_ptr<Parameter> add_parameter_(const std::string& name, Parameter::Kind kind,
                                            Halide::Type type, std::vector<Axis> axes);
  void set_line_(std::string& line, const char* field, std::string text);
  void add_transform_(std::vector<Expr>& steps, const char* what, const detail::Scope& scope,
                      const RowTransform& transform);

  std::string name_, file_, summary_, source_, family_;
  std::vector<std::string> notes_;
  int line_ = 0;
  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<Expr> score_steps_;
  std::vector<Expr> masks_;
  std::vector<Expr> query_steps_, key_steps_, value_steps_, output_steps_;
  Normalizer::Kind normalizer_ = Normalizer::Kind::Softmax;
  bool normalizer_given_ = false;
  Expr sink_, weight_, divisor_, weight_factor_, combination_;
  int slice_count_ = 1;
  std::set<Output> outputs_;
};

// How a table entry appears inside a declaration: a pure call named table_prefix + name. Pipelines
// turn it into a clamped load, the reference into a look-up.
inline constexpr const char* table_prefix = "table.";
inline constexpr const char* extent_prefix = "extent.";  // (axis): entries along it, Int(32)

}  // namespace fovea

#endif
