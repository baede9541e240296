// element.h: the element types of tensors inside a kernel: f32 as it is, 16-bit types widened and
// narrowed, and products of pairs of bf16.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_ELEMENT_H
#define FOVEA_GENERATORS_PIPELINES_ELEMENT_H

#include <Halide.h>

#include <string>

namespace fovea {

enum class Element { F32, F16, BF16 };

// "f32", "f16", "bf16". Throws std::invalid_argument naming what is allowed.
Element element_of(const std::string& dtype);

Halide::Type stored_type(Element element);
// The same as an integer for the 16-bit types.
Halide::Type bits_type(Element element);

// The f32 number that a stored element is; exact, NaN and subnormals included.
Halide::Expr widen(const Halide::Expr& stored);
// The same of an element that may have arrived as bits_type(element).
Halide::Expr widen(const Halide::Expr& stored, Element element);

// The element nearest to an f32 number, ties to even; beyond the largest one infinity, and NaN
// stays NaN.
Halide::Expr narrow(const Halide::Expr& value, Element element);
// As bits_type(element).
Halide::Expr narrow_to_bits(const Halide::Expr& value, Element element);

// Two bf16 numbers in one 32-bit word, the first in its lower half, as the dot product instructions
// of x86 and Arm want them.
Halide::Expr pair_of_stored(const Halide::Expr& first, const Halide::Expr& second);
Halide::Expr pair_of_rounded(const Halide::Expr& first, const Halide::Expr& second);
// The same for numbers that are NaN or not below 0: half the instructions. Ties go up.
Halide::Expr pair_of_weights(const Halide::Expr& first, const Halide::Expr& second);

// The pair that begins with the element `first` in memory, not taken apart; of a vector of
// neighbouring elements as many pairs, from the first element on. For dot_pair only.
inline constexpr const char* stored_pair_name = "fovea_stored_pair";
Halide::Expr stored_pair(const Halide::Expr& first);

// first * first + second * second of two pairs, in f32. lowering/dot_pairs.h turns it into code.
inline constexpr const char* dot_pair_name = "fovea_dot_pair";
Halide::Expr dot_pair(const Halide::Expr& a, const Halide::Expr& b);

}  // namespace fovea

#endif
