// A merge with its memory, and the formula it has to follow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/fovea.hpp>

#include <string>
#include <vector>

#include "tests/support/strided_tensor.h"

namespace fovea::test {

struct Rows {
  int64_t batch, heads, rows, features;
};

// Parts are NaN everywhere until they are filled.
struct MergeCase {
  // Dense tensors, one part for each type.
  MergeCase(const Rows& rows, const std::vector<fovea_dtype>& part_dtypes, fovea_dtype dtype);
  // Any layouts, whatever `random` gives; inputs may be broadcast.
  MergeCase(const Rows& rows, const std::vector<fovea_dtype>& part_dtypes, fovea_dtype dtype,
            Random& random);
  // Normal numbers in every part, and LSE between the limits.
  void fill(Random& random, double low, double high);

  fovea_status run() {
    return merge(parts.data(), static_cast<int64_t>(parts.size()), merged, &exec).code();
  }
  // Every bit of the outputs, row after row.
  std::vector<float> results() const;
  // What is wrong with the outputs: the formula in double, rounded to f32 and then to the type of
  // `out`, up to the error of double arithmetic. Empty: nothing.
  std::string difference() const;

  Rows size;
  std::vector<StridedTensor> outs, lses;
  StridedTensor out, lse;
  std::vector<fovea_partial> parts;
  fovea_partial merged;
  Exec exec;

 private:
  std::string row_difference_(int64_t b, int64_t h, int64_t row) const;
  void describe_();
};

// A part of one row, as numbers.
struct RowPart {
  std::vector<float> out;
  float lse;
};
// The row that one call makes of parts of one row.
RowPart merged_row(const std::vector<RowPart>& parts);

}  // namespace fovea::test
