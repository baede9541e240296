// invariance.h: which relations between calls a variant keeps, found out from its declaration. The
// parts of the declaration are evaluated at random positions, with random tables; no list of names
// is kept anywhere.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_INVARIANCE_H
#define FOVEA_TESTS_SUPPORT_INVARIANCE_H

#include <fovea/dsl/variant.h>

#include <set>
#include <string>

namespace fovea::test {

// Adding one number to all the positions named ("k", "q", "row", "batch", "head", "kv_head")
// changes no part of the declaration, if the tables move along with the positions that their axes
// run over. {"k"}: keys may be permuted; {"q", "k"}: only distances count.
bool stays_when_moving(const Variant& variant, const std::set<std::string>& positions);

// Twice the values make twice the output.
bool is_proportional_to_values(const Variant& variant);

// A mask and the softmax of plain products: equal scores give the mean of the visible values.
bool is_masked_softmax(const Variant& variant);

// The declaration mentions this position anywhere ("kv_len", …).
bool mentions(const Variant& variant, const std::string& position);

// A minimum or a maximum of floats, which of a number and a NaN returns what the instruction set
// makes of it.
bool may_drop_nan(const Variant& variant);
// The same of the row transforms alone: a NaN score survives every score step.
bool may_drop_nan_of_rows(const Variant& variant);

}  // namespace fovea::test

#endif
