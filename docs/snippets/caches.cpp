// caches.cpp: the calls that docs/caches.md shows.
// SPDX-License-Identifier: Apache-2.0
#include <docs_cached.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using Attention = docs_cached::causal;

constexpr std::int64_t kv_heads = 2, heads = 8, features = 64, page_size = 16, pages = 12;
constexpr fovea::Shape pool = {pages, kv_heads, page_size, features};

struct PagedCache {
  std::vector<std::int8_t> keys, values;
  std::vector<std::uint16_t> key_scales, value_scales;  // f16, one for each token and head
};

// Pages of 16 tokens: sequence 0 has up to four of them, sequence 1 shares its first page.
const std::int32_t block_table[] = {7, 2, 9,  4,  //
                                    7, 0, 11, 5};

// Slots without gaps.
fovea_tensor slots_of(const void* data, fovea_dtype dtype, const fovea::Shape& shape) {
  return fovea::tensor(data, dtype, shape, fovea::bhsd_strides(shape));
}

fovea::Cache describe(const PagedCache& memory) {
  const fovea::Shape scales = {pages, kv_heads, page_size, 1};
  fovea::Cache cache = fovea::paged_cache(block_table, 4);
  cache.k_scale = slots_of(memory.key_scales.data(), FOVEA_F16, scales);
  cache.v_scale = slots_of(memory.value_scales.data(), FOVEA_F16, scales);
  return cache;
}

// New tokens: `count[b]` of them for sequence b, which has `before[b]` already.
fovea::Status append(PagedCache& memory, const std::vector<float>& new_keys,
                     const std::vector<float>& new_values, std::int64_t most,
                     const std::int32_t* before, const std::int32_t* count) {
  const fovea::Cache cache = describe(memory);
  const fovea::Shape tokens = {2, kv_heads, most, features};
  fovea::Append call(
      fovea::tensor(new_keys.data(), tokens), fovea::tensor(new_values.data(), tokens),
      slots_of(memory.keys.data(), FOVEA_I8, pool), slots_of(memory.values.data(), FOVEA_I8, pool));
  call.kv_len = before;
  call.new_len = count;
  call.cache = &cache;
  return Attention::append(call);
}

// The attention of each sequence's last token; kv_len counts it.
fovea::Status next_token(const PagedCache& memory, const std::vector<float>& q,
                         const std::int32_t* kv_len, std::vector<float>& out) {
  const fovea::Cache cache = describe(memory);
  const fovea::Shape query = {2, heads, 1, features};
  fovea::Call call(fovea::tensor(q.data(), query), slots_of(memory.keys.data(), FOVEA_I8, pool),
                   slots_of(memory.values.data(), FOVEA_I8, pool),
                   fovea::tensor(out.data(), query));
  call.cache = &cache;
  call.kv_len = kv_len;
  return Attention::run(call);
}

// Prompts and single new tokens in one call: sequence 0 brings 20 rows, sequence 1 one.
fovea::Status mixed(const PagedCache& memory, const std::vector<float>& q,
                    const std::int32_t* kv_len, std::vector<float>& out) {
  const std::int32_t rows[] = {0, 20, 21};
  const fovea::Ragged ragged(2, rows);
  const fovea::Cache cache = describe(memory);
  const fovea::Shape query = {1, heads, 21, features};
  fovea::Call call(fovea::tensor(q.data(), query), slots_of(memory.keys.data(), FOVEA_I8, pool),
                   slots_of(memory.values.data(), FOVEA_I8, pool),
                   fovea::tensor(out.data(), query));
  call.ragged = &ragged;
  call.cache = &cache;
  call.kv_len = kv_len;
  return Attention::run(call);
}

bool expect(fovea::Status status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", fovea_last_message());
  return status.ok();
}

}  // namespace

int main() {
  PagedCache memory;
  const std::size_t slots = pages * kv_heads * page_size;
  memory.keys.resize(slots * features);
  memory.values.resize(slots * features);
  memory.key_scales.resize(slots);
  memory.value_scales.resize(slots);
  // Values of token i are i in every feature.
  const std::int64_t most = 40;
  std::vector<float> k(2 * kv_heads * most * features, 0.5f), v(k.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>(i / features % static_cast<std::size_t>(most));
  const std::int32_t none[] = {0, 16}, first[] = {40, 1};
  if (!expect(append(memory, k, v, most, none, first))) return 1;
  const std::int32_t kv_len[] = {40, 17};

  std::vector<float> q(2 * heads * features, 0.1f), out(q.size());
  if (!expect(next_token(memory, q, kv_len, out))) return 1;
  // Means of 0 … 39, and of 0 … 15 of the shared page and a first token of its own, which is 0.
  const float expected[] = {19.5f, 120.0f / 17};
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < heads * features; ++i) {
      if (std::fabs(out[b * heads * features + i] - expected[b]) > 0.05f) return 1;
    }
  }
  std::vector<float> rows(heads * 21 * features, 0.1f), mixed_out(rows.size());
  if (!expect(mixed(memory, rows, kv_len, mixed_out))) return 1;
  // Row 19 of sequence 0 sees all 40, row 20 is the one of sequence 1.
  if (std::fabs(mixed_out[19 * features] - expected[0]) > 0.05f) return 1;
  return std::fabs(mixed_out[20 * features] - expected[1]) > 0.05f ? 1 : 0;
}
