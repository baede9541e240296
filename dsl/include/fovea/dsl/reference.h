// reference.h: attention computed slowly from the declaration itself, the truth that tests, tuner
// and benchmarks share. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_REFERENCE_H
#define FOVEA_DSL_REFERENCE_H

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

// Reads the values out of a generated params structure (fields in declaration order with C layout).
ParameterValues parameter_values(const Variant& variant, const void* params);

// Dense results in the shapes of the call: out [B, Hq, Sq, d_v], lse [B, Hq, Sq]. Rows past
// q_len[b], and rows that were not asked for, hold NaN in `out` and `lse` and false in `computed`.
struct ReferenceResult {
  int64_t batch = 0, heads = 0, rows = 0, d_v = 0;
  std::vector<double> out, lse;
  std::vector<char> computed;  // [B, Hq, Sq]
};

struct ReferenceOptions {
  // Every row_step-th row of every head (and the last one): long sequences are checked by samples.
  int64_t row_step = 1;
};

// Evaluates the variant in double, without running any generated code: the user's own Halide
// expressions are interpreted (score steps, mask, tables), the softmax is the two-pass textbook
// one. Inputs may be f32, f16 or bf16. The call must be valid; lengths, offsets, scale and strides
// mean what they mean in fovea.h. Ignores outputs, workspace and exec.
ReferenceResult reference_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options = {});

// The same formula in plain f32 (products accumulated in f32, in key order): the yardstick of the
// accuracy rule, by which a kernel's error may be at most twice that of this evaluation.
ReferenceResult plain_f32_attention(const Variant& variant, const fovea_call& call,
                                    const ParameterValues& values,
                                    const ReferenceOptions& options = {});

}  // namespace fovea

#endif
