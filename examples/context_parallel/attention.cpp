// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "context_attention.hpp"

namespace context_parallel {
namespace {

void require_ok(const fovea::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.name()) + ": " + status.message());
}

fovea::Status run(Variant variant, const fovea::Call& call) {
  switch (variant) {
    case Variant::Window:
      return context_attention::causal_window::run(call, {static_cast<std::int32_t>(kWindow)});
    case Variant::Alibi: {
      float slopes[kHeads];
      for (std::int64_t h = 0; h < kHeads; ++h)
        slopes[h] = std::exp2(-6.0F - static_cast<float>(h));
      return context_attention::alibi::run(call, {fovea::table(slopes, kHeads)});
    }
    case Variant::Causal:
      break;
  }
  return context_attention::causal::run(call);
}

}  // namespace

const char* name_of(Variant variant) {
  switch (variant) {
    case Variant::Window:
      return "causal_window";
    case Variant::Alibi:
      return "alibi";
    case Variant::Causal:
      break;
  }
  return "causal";
}

Part::Part(const Span& span) : rows(span), data(static_cast<std::size_t>(numbers(span.count))) {
  for (std::size_t i = kRow - 1; i < data.size(); i += kRow)
    data[i] = -std::numeric_limits<float>::infinity();
}

fovea_partial view(float* data, std::int64_t count) {
  const fovea::Strides strides = {0, count * Part::kRow, Part::kRow, 1};
  return {fovea::tensor(data, {1, kHeads, count, kFeatures}, strides),
          fovea::tensor(data + kFeatures, {1, kHeads, count, 1}, strides)};
}

Part attend(Variant variant, const std::vector<float>& q, const Span& rows, const Keys& keys,
            int threads) {
  Part part(rows);
  const fovea_partial place = view(part.data.data(), rows.count);
  const fovea::Shape shard = {1, kKvHeads, keys.span.count, kFeatures};
  const float* values = keys.data + kKvHeads * keys.span.count * kFeatures;
  // The call counts keys from the first one of its shard, and so do its rows.
  const auto q_offset = static_cast<std::int32_t>(rows.first - keys.span.first);
  fovea::Exec exec;
  exec.threads = threads;
  fovea::Call call(fovea::tensor(q.data(), {1, kHeads, rows.count, kFeatures}),
                   fovea::tensor(keys.data, shard), fovea::tensor(values, shard), place.out);
  call.lse = place.lse;
  call.scale = &kScale;
  call.q_offset = &q_offset;
  call.exec = &exec;
  require_ok(run(variant, call));
  return part;
}

void merge_into(Part& into, Part* more, int count) {
  std::vector<fovea_partial> parts = {view(into.data.data(), into.rows.count)};
  for (int i = 0; i < count; ++i) parts.push_back(view(more[i].data.data(), into.rows.count));
  require_ok(fovea::merge(parts.data(), static_cast<std::int64_t>(parts.size()), parts[0]));
}

std::int64_t visible_pairs(Variant variant, const Span& rows, const Span& keys) {
  std::int64_t pairs = 0;
  for (std::int64_t q = rows.first; q < rows.end(); ++q) {
    const std::int64_t first =
        variant == Variant::Window ? std::max(keys.first, q - kWindow + 1) : keys.first;
    pairs += std::max<std::int64_t>(0, std::min(keys.end(), q + 1) - first);
  }
  return pairs;
}

}  // namespace context_parallel
