// parameter.h: values of a variant that are bound at run time.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_PARAMETER_H
#define FOVEA_DSL_PARAMETER_H

#include <fovea/dsl/position.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace fovea {

// What one axis of a table runs over. The runtime checks the extent a caller passes against it.
struct Axis {
  enum class Kind {
    Fixed,
    Batch,
    Head,
    KvHead,
    Query,
    Key,
    Position,
    Row,
    Feature,
    ValueFeature,
    Any
  };
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
inline const Axis query{Axis::Kind::Query};        // every query position
inline const Axis key{Axis::Kind::Key};            // every key position
inline const Axis position{Axis::Kind::Position};  // every query and every key position
inline const Axis row{Axis::Kind::Row};  // the query rows of the call: exactly Sq (Position::row)
inline const Axis feature{Axis::Kind::Feature};             // exactly d_qk
inline const Axis value_feature{Axis::Kind::ValueFeature};  // exactly d_v
inline const Axis any{Axis::Kind::Any};  // whatever the caller passes, at least 1
}  // namespace axis

// Integer scalars lie within plus and minus this: the compiler reorders sums of positions and
// scalars in 32 bits, and none of them may wrap. A window of this size is one without end.
inline constexpr int32_t largest_integer = int32_t{1} << 30;

// A call for which a parameter is to have a typical value: for pictures, benchmarks and `show`.
struct ExampleShape {
  int64_t batch = 1, heads = 1, kv_heads = 1, q_len = 1, kv_len = 1, d_qk = 64, d_v = 64;
};

// The declaration of one parameter, as stored in its variant.
struct Parameter {
  enum class Kind { Scalar, Table };
  std::string name;
  Kind kind = Kind::Scalar;
  Halide::Type type;  // Float(32), Int(32), or UInt(8) for tables of bool
  std::string description;

  // Scalars: the values a caller may pass. NaN is never allowed.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;

  std::vector<Axis> axes;  // Tables: 1 … 4

  // Typical values, no part of the meaning; empty: not given.
  std::function<double(const ExampleShape&)> example_scalar;
  std::function<double(const ExampleShape&, const std::vector<int64_t>& index)> example_entry;
  std::function<int64_t(const ExampleShape&)> example_extent;  // of axes of kind Any
};

namespace detail {
template <typename T>
constexpr bool is_parameter_type = std::is_same_v<T, float> || std::is_same_v<T, int>;
template <typename T>
constexpr bool is_entry_type = is_parameter_type<T> || std::is_same_v<T, bool>;

// Throws DeclarationError when an index list does not fit the table.
Expr table_entry(const std::string& variant, const Parameter& table,
                 const std::vector<Expr>& indices);
Expr table_extent(const std::string& variant, const Parameter& table, int axis);
void describe(const std::string& variant, Parameter& parameter, std::string text);
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

  // What it is and in which unit; one line.
  const Scalar& describe(std::string text) const {
    detail::describe(variant_, *parameter_, std::move(text));
    return *this;
  }
  // A typical value, which may depend on the shape.
  const Scalar& example(T value) const {
    parameter_->example_scalar = [value](const ExampleShape&) {
      return static_cast<double>(value);
    };
    return *this;
  }
  const Scalar& example(std::function<double(const ExampleShape&)> value) const {
    parameter_->example_scalar = std::move(value);
    return *this;
  }

 private:
  const Scalar& range_(double minimum, double maximum, bool exclusive) const {
    detail::restrict_range(variant_, *parameter_, minimum, maximum, exclusive);
    return *this;
  }

  std::string variant_;
  std::shared_ptr<Parameter> parameter_;
};

// An array bound at run time. table(i, j) reads one entry; indices are clamped into the extents, so
// a masked position can never read outside. A table of bool holds one byte an entry, 0 is false.
template <typename T>
class Table {
 public:
  static_assert(detail::is_entry_type<T>, "fovea: a table holds float, int or bool");

  Table(std::string variant, std::shared_ptr<Parameter> parameter)
      : variant_(std::move(variant)), parameter_(std::move(parameter)) {}

  template <typename... Index>
  Expr operator()(Index... index) const {
    const Expr entry = detail::table_entry(variant_, *parameter_, {Expr(index)...});
    if constexpr (std::is_same_v<T, bool>) return entry != Halide::cast<uint8_t>(0);
    return entry;
  }

  // Entries along an axis, Int(32): a number only known at run time where the axis is `any`.
  Expr extent(int axis = 0) const { return detail::table_extent(variant_, *parameter_, axis); }

  const Table& describe(std::string text) const {
    detail::describe(variant_, *parameter_, std::move(text));
    return *this;
  }
  // Typical entries, and the extent of axes of kind any.
  const Table& example(
      std::function<double(const ExampleShape&, const std::vector<int64_t>&)> entry) const {
    parameter_->example_entry = std::move(entry);
    return *this;
  }
  const Table& example_extent(std::function<int64_t(const ExampleShape&)> extent) const {
    parameter_->example_extent = std::move(extent);
    return *this;
  }

 private:
  std::string variant_;
  std::shared_ptr<Parameter> parameter_;
};

}  // namespace fovea

#endif
