// Partial results: attention over the keys of one span, and their merge.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/fovea.hpp>

#include <vector>

#include "text.h"

namespace context_parallel {

enum class Variant { Causal, Window, Alibi };
constexpr Variant kVariants[] = {Variant::Causal, Variant::Window, Variant::Alibi};
constexpr std::int64_t kWindow = 300;
const char* name_of(Variant variant);

// What some keys give for the rows of a span: [head, row, feature and LSE], so that a part is one
// run of numbers and travels as one message.
struct Part {
  static constexpr std::int64_t kRow = kFeatures + 1;

  Part() = default;
  // Rows that have seen no key: the neutral element of a merge.
  explicit Part(const Span& rows);
  static std::int64_t numbers(std::int64_t rows) { return kHeads * rows * kRow; }

  const float* row(std::int64_t head, std::int64_t i) const {
    return data.data() + (head * rows.count + i) * kRow;
  }

  Span rows = {0, 0};
  std::vector<float> data;
};

// The part of `count` rows that lies at `data`.
fovea_partial view(float* data, std::int64_t count);

struct Keys {
  Span span;
  const float* data;  // keys, then values, as keys_and_values() makes them
};

// `q` are the queries of `rows`. Errors of fovea are thrown as std::runtime_error.
Part attend(Variant variant, const std::vector<float>& q, const Span& rows, const Keys& keys,
            int threads);

// into = into and more, in this order.
void merge_into(Part& into, Part* more, int count);

// How many pairs of a query and a key there are to compute.
std::int64_t visible_pairs(Variant variant, const Span& rows, const Span& keys);

}  // namespace context_parallel
