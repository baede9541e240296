// lane_arithmetic.h: Halide's integer rules and broadcasting, over all lanes of an evaluation at
// once. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_LANE_ARITHMETIC_H
#define FOVEA_DSL_SRC_LANE_ARITHMETIC_H

#include <Halide.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fovea::detail {

// Element-wise maps in which an operand of size 1 stands for all lanes. The loops are kept apart so
// that each of them vectorises.
template <typename Out, typename A, typename F>
std::vector<Out> map_lanes(const std::vector<A>& a, F f) {
  std::vector<Out> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = f(a[i]);
  return out;
}

template <typename Out, typename A, typename B, typename F>
std::vector<Out> map_lanes(const std::vector<A>& a, const std::vector<B>& b, F f) {
  std::vector<Out> out(std::max(a.size(), b.size()));
  if (a.size() == b.size()) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], b[i]);
  } else if (a.size() == 1) {
    const A first = a[0];
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(first, b[i]);
  } else {
    const B second = b[0];
    for (size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], second);
  }
  return out;
}

template <typename T>
std::vector<T> select_lanes(const std::vector<int64_t>& condition, const std::vector<T>& yes,
                            const std::vector<T>& no) {
  const size_t condition_step = condition.size() == 1 ? 0 : 1;
  const size_t yes_step = yes.size() == 1 ? 0 : 1;
  const size_t no_step = no.size() == 1 ? 0 : 1;
  std::vector<T> out(std::max({condition.size(), yes.size(), no.size()}));
  // A choice, never arithmetic: what the other side holds, NaN included, cannot reach the result.
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = condition[i * condition_step] != 0 ? yes[i * yes_step] : no[i * no_step];
  }
  return out;
}

// The arithmetic of one integer type. Values travel as int64_t: sign- or zero-extended from their
// width, and 64-bit unsigned ones as the same bits.
class IntegerRules {
 public:
  explicit IntegerRules(Halide::Type type)
      : bits_(type.bits()),
        shift_(64 - type.bits()),
        is_signed_(type.is_int()),
        is_unsigned64_(type.is_uint() && type.bits() == 64),
        order_flip_(is_unsigned64_ ? std::numeric_limits<int64_t>::min() : 0) {}

  int64_t wrap(uint64_t x) const {
    return is_signed_ ? static_cast<int64_t>(x << shift_) >> shift_
                      : static_cast<int64_t>((x << shift_) >> shift_);
  }
  int64_t wrap(int64_t x) const { return wrap(bits(x)); }

  int64_t add(int64_t a, int64_t b) const { return wrap(bits(a) + bits(b)); }
  int64_t subtract(int64_t a, int64_t b) const { return wrap(bits(a) - bits(b)); }
  int64_t multiply(int64_t a, int64_t b) const { return wrap(bits(a) * bits(b)); }

  bool less(int64_t a, int64_t b) const { return (a ^ order_flip_) < (b ^ order_flip_); }
  int64_t smaller(int64_t a, int64_t b) const { return less(b, a) ? b : a; }
  int64_t larger(int64_t a, int64_t b) const { return less(a, b) ? b : a; }
  // |a - b| as the unsigned number of the same width.
  int64_t distance(int64_t a, int64_t b) const {
    const uint64_t difference = less(a, b) ? bits(b) - bits(a) : bits(a) - bits(b);
    return static_cast<int64_t>(difference << shift_ >> shift_);
  }

  // Euclidean: a = b * q + r with 0 <= r < |b|; both are 0 where b is 0.
  int64_t divide(int64_t a, int64_t b) const {
    if (b == 0) return 0;
    if (is_unsigned64_) return static_cast<int64_t>(bits(a) / bits(b));
    if (b == -1) return subtract(0, a);  // the one quotient that can overflow
    const int64_t quotient = a / b;
    if (a % b >= 0) return quotient;
    return b > 0 ? quotient - 1 : quotient + 1;
  }
  int64_t remainder(int64_t a, int64_t b) const {
    if (b == 0 || (b == -1 && !is_unsigned64_)) return 0;
    if (is_unsigned64_) return static_cast<int64_t>(bits(a) % bits(b));
    const int64_t r = a % b;
    if (r >= 0) return r;
    return b > 0 ? r + b : r - b;
  }
  // C's division; 0 where b is 0.
  int64_t divide_to_zero(int64_t a, int64_t b) const {
    if (b == 0) return 0;
    if (is_unsigned64_) return static_cast<int64_t>(bits(a) / bits(b));
    return b == -1 ? subtract(0, a) : a / b;
  }
  int64_t remainder_to_zero(int64_t a, int64_t b) const {
    if (b == 0 || (b == -1 && !is_unsigned64_)) return 0;
    if (is_unsigned64_) return static_cast<int64_t>(bits(a) % bits(b));
    return a % b;
  }

  // A negative amount shifts the other way; an amount of the width or more shifts everything out.
  int64_t shift_left(int64_t a, int64_t amount) const {
    if (amount < 0) return shift_right_by(a, amount == INT64_MIN ? INT64_MAX : -amount);
    return amount >= bits_ ? 0 : wrap(bits(a) << amount);
  }
  int64_t shift_right(int64_t a, int64_t amount) const {
    return amount < 0 ? shift_left(a, amount == INT64_MIN ? INT64_MAX : -amount)
                      : shift_right_by(a, amount);
  }

  // Truncates towards zero as C does; what C leaves open is fixed here: too large or too small
  // becomes the nearest value of the type, NaN becomes 0.
  template <typename Real>
  int64_t from_real(Real x) const {
    if (std::isnan(x)) return 0;
    const int value_bits = is_signed_ ? bits_ - 1 : bits_;
    const Real limit = std::ldexp(Real(1), value_bits);
    const uint64_t largest = ~uint64_t{0} >> (64 - value_bits);
    if (x >= limit) return static_cast<int64_t>(largest);
    if (is_signed_) {
      return x < -limit ? static_cast<int64_t>(~largest) : static_cast<int64_t>(x);
    }
    return x <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x));
  }
  template <typename Real>
  Real to_real(int64_t x) const {
    return is_unsigned64_ ? static_cast<Real>(bits(x)) : static_cast<Real>(x);
  }

 private:
  static uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
  int64_t shift_right_by(int64_t a, int64_t amount) const {
    if (is_unsigned64_) return amount >= 64 ? 0 : static_cast<int64_t>(bits(a) >> amount);
    return a >> std::min<int64_t>(amount, 63);
  }

  int bits_;
  int shift_;
  bool is_signed_;
  bool is_unsigned64_;
  int64_t order_flip_;  // moves unsigned 64-bit values so that signed comparison orders them
};

}  // namespace fovea::detail

#endif
