// parameter.h: values of a variant that are bound at run time.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_PARAMETER_H
#define FOVEA_DSL_PARAMETER_H

#include <fovea/dsl/position.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace fovea {

// What one axis of a table runs over. The runtime checks the extent a caller passes against it.
struct Axis {
  enum class Kind { Fixed, Batch, Head, KvHead, Query, Key, Any };
  Kind kind = Kind::Fixed;
  int64_t extent = 0;  // Fixed only

  // A plain number is an axis of exactly that extent.
  Axis(int64_t fixed_extent)
      : kind(Kind::Fixed), extent(fixed_extent) {}  // NOLINT(google-explicit-constructor)
  explicit Axis(Kind k) : kind(k) {}
};

namespace axis {
inline const Axis batch{Axis::Kind::Batch};
inline const Axis head{Axis::Kind::Head};
inline const Axis kv_head{Axis::Kind::KvHead};
inline const Axis query{Axis::Kind::Query};  // every query position
inline const Axis key{Axis::Kind::Key};      // every key position
inline const Axis any{Axis::Kind::Any};      // whatever the caller passes, at least 1
}  // namespace axis

// Integer scalars lie within plus and minus this: the compiler reorders sums of positions and
// scalars in 32 bits, and none of them may wrap. A window of this size is one without end.
inline constexpr int32_t largest_integer = int32_t{1} << 30;

// The declaration of one parameter, as stored in its variant.
struct Parameter {
  enum class Kind { Scalar, Table };
  std::string name;
  Kind kind = Kind::Scalar;
  Halide::Type type;  // Float(32) or Int(32)

  // Scalars: the values a caller may pass. NaN is never allowed.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;

  std::vector<Axis> axes;  // Tables: 1 … 4
};

namespace detail {
template <typename T>
constexpr bool is_parameter_type = std::is_same_v<T, float> || std::is_same_v<T, int>;

// Throws DeclarationError when an index list does not fit the table.
Expr table_entry(const std::string& variant, const Parameter& table,
                 const std::vector<Expr>& indices);
// Intersects the range of a scalar with another one. Throws DeclarationError when nothing is left.
void restrict_range(const std::string& variant, Parameter& scalar, double minimum, double maximum,
                    bool exclusive_minimum);
}  // namespace detail

// A number bound at run time; use it like any Expr. The range belongs to the contract: the
// generated function refuses values outside it.
template <typename T>
class Scalar : public Expr {
 public:
  static_assert(detail::is_parameter_type<T>, "fovea: a scalar parameter is float or int");

  Scalar(std::string variant, std::shared_ptr<Parameter> parameter)
      : Expr(Halide::Internal::Variable::make(parameter->type, parameter->name)),
        variant_(std::move(variant)),
        parameter_(std::move(parameter)) {}

  // Several ranges hold together.
  const Scalar& positive() const { return range_(0, parameter_->maximum, true); }
  const Scalar& at_least(T minimum) const { return range_(minimum, parameter_->maximum, false); }
  const Scalar& at_most(T maximum) const {
    return range_(parameter_->minimum, maximum, parameter_->exclusive_minimum);
  }
  const Scalar& between(T minimum, T maximum) const { return range_(minimum, maximum, false); }

 private:
  const Scalar& range_(double minimum, double maximum, bool exclusive) const {
    detail::restrict_range(variant_, *parameter_, minimum, maximum, exclusive);
    return *this;
  }

  std::string variant_;
  std::shared_ptr<Parameter> parameter_;
};

// An array bound at run time. table(i, j) reads one entry; indices are clamped into the extents, so
// a masked position can never read outside.
template <typename T>
class Table {
 public:
  static_assert(detail::is_parameter_type<T>, "fovea: a table holds float or int");

  Table(std::string variant, std::shared_ptr<Parameter> parameter)
      : variant_(std::move(variant)), parameter_(std::move(parameter)) {}

  template <typename... Index>
  Expr operator()(Index... index) const {
    return detail::table_entry(variant_, *parameter_, {Expr(index)...});
  }

 private:
  std::string variant_;
  std::shared_ptr<Parameter> parameter_;
};

}  // namespace fovea

#endif
