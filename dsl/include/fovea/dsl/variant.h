// variant.h: an attention variant as a value.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_VARIANT_H
#define FOVEA_DSL_VARIANT_H

#include <fovea/dsl/masks.h>
#include <fovea/dsl/parameter.h>
#include <fovea/dsl/position.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace fovea {

// Outputs besides the attention itself.
enum class Output { Lse };
inline constexpr Output lse =
    Output::Lse;  // natural-log sum of exponentials, f32, (batch, head, row)

// out(b,h,q,:) = sum_k w(q,k) v(b,kh,k,:),  w = softmax over visible k of steps(scale * <q, k>)
// The steps are applied in the order of their declaration to the scaled score, the masks last: a
// hidden key has weight exactly 0 whatever its row holds. Everything else (pipelines, reference, C
// interface, tests, hash) is derived from this.
class Variant {
 public:
  explicit Variant(std::string name, std::string file = "", int line = 0);

  // One line saying what the variant is; shown by `fovea list`.
  void summary(std::string text);

  // Run-time parameters. The name is an identifier, unique in the variant, and becomes a field of
  // its params structure.
  template <typename T>
  Scalar<T> scalar(const std::string& name) {
    return Scalar<T>(name_,
                     add_parameter_(name, Parameter::Kind::Scalar, Halide::type_of<T>(), {}));
  }
  template <typename T>
  Table<T> table(const std::string& name, std::initializer_list<Axis> axes) {
    return Table<T>(name_,
                    add_parameter_(name, Parameter::Kind::Table, Halide::type_of<T>(), axes));
  }

  // step(s, p): Float(32) from the score so far. Several steps are applied in order.
  void score(const std::function<Expr(Expr, const Position&)>& step);

  // True where the key is visible. Several masks are AND-ed.
  void keep(const Mask& mask);

  void returns(Output output);

  const std::string& name() const { return name_; }
  const std::string& summary_text() const { return summary_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::vector<std::shared_ptr<Parameter>>& parameters() const { return parameters_; }
  const Parameter* find_parameter(const std::string& name) const;

  // In terms of symbolic_score() and symbolic_position().
  const std::vector<Expr>& score_steps() const { return score_steps_; }
  Expr score_chain() const;  // all steps composed; symbolic_score() itself when there are none
  Expr mask() const;         // conjunction of all masks; const true when there are none
  bool returns_lse() const { return returns_lse_; }

  // The declaration as text, one statement a line; equal texts mean equal kernels. Stable across
  // runs and machines.
  std::string canonical_text() const;
  uint64_t hash() const;  // FNV-1a of canonical_text()

  // Whole-variant rules (a declared parameter that nothing uses, …). Throws DeclarationError.
  void check() const;

 private:
  std::shared_ptr<Parameter> add_parameter_(const std::string& name, Parameter::Kind kind,
                                            Halide::Type type, std::vector<Axis> axes);
  void check_expression_(const Expr& e, const std::string& field, bool score_allowed) const;

  std::string name_, file_, summary_;
  int line_ = 0;
  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<Expr> score_steps_;
  std::vector<Expr> masks_;
  bool returns_lse_ = false;
};

// How a table entry appears inside a declaration: a pure call named table_prefix + name. Pipelines
// turn it into a clamped load, the reference into a look-up.
inline constexpr const char* table_prefix = "table.";

}  // namespace fovea

#endif
