// reference.h: attention computed slowly from the declaration itself, the truth that tests, tuner
// and benchmarks share. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_REFERENCE_H
#define FOVEA_DSL_REFERENCE_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/variant.h>
#include <fovea/fovea.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fovea {

// Values of a variant's parameters by name: a scalar's number, or a table as the C interface takes
// it.
struct ParameterValue {
  double scalar = 0;
  fovea_table table{};
};
using ParameterValues = std::map<std::string, ParameterValue>;

// The values bound for evaluate(): scalars as variables, tables behind the callbacks. `values` must
// outlive the environment. Throws std::invalid_argument: a parameter without a value, a table
// without entries.
Environment<double> parameter_environment(const Variant& variant, const ParameterValues& values);

// Reads the values out of a generated params structure (fields in declaration order with C layout).
ParameterValues parameter_values(const Variant& variant, const void* params);

// Dense results in the shapes of the call: out [B, Hq, Sq, d_v]; lse, row_max and row_sum
// [B, Hq, Sq]; probabilities [B, Hq, Sq, Skv]. Rows past q_len[b], rows that were not asked for and
// keys past kv_len[b] hold NaN; `computed` is false for such rows. What has no meaning for the
// variant is NaN in `lse` (weights, slices); the other extra outputs are empty unless the variant
// returns them.
struct ReferenceResult {
  int64_t batch = 0, heads = 0, rows = 0, d_v = 0, keys = 0;
  std::vector<double> out, lse, row_max, row_sum, probabilities;
  std::vector<char> computed;  // [B, Hq, Sq]

  // With ReferenceOptions::magnitudes, what errors are measured against. Of an output: the sum of
  // its terms without their signs, as far as the score and each term can move it; score: the size
  // of the scores that matter to a row, |lse| or the largest |score|; product: a bound of
  // |scale| * sum |q k| over the computed rows.
  std::vector<double> out_magnitude, row_sum_magnitude, probability_magnitude;
  std::vector<double> score_magnitude;  // [B, Hq, Sq]
  double product_magnitude = 0;
};

struct ReferenceOptions {
  // Every row_step-th row of every head (and the last one): long sequences are checked by samples.
  int64_t row_step = 1;
  bool magnitudes = false;
};

// Evaluates the variant in double, without running any generated code: the user's own Halide
// expressions are interpreted (transforms, score steps, mask, tables), the softmax is the two-pass
// textbook one. Inputs may be f32, f16 or bf16. The call must be valid; lengths, offsets, scale and
// strides mean what they mean in fovea.h. Ignores outputs, workspace and exec. Throws
// std::invalid_argument: a parameter without a value, d_qk that does not fall into the slices.
ReferenceResult reference_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options = {});

// The same formula as an implementation without any fusion computes it in the type of the inputs:
// the yardstick of the accuracy rule, by which a kernel's error may be at most twice that of this
// evaluation. Arithmetic is f32, products accumulated in key order. With f16 or bf16 inputs what is
// kept between its steps is rounded to their type, to the nearest, ties to even: rows after their
// transforms, weights before they meet the values, the output; scores, sums and the extra outputs
// are f32.
ReferenceResult plain_attention(const Variant& variant, const fovea_call& call,
                                const ParameterValues& values,
                                const ReferenceOptions& options = {});

}  // namespace fovea

#endif
