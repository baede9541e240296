// kv_cache.cpp: pools, block tables and what few bits cost.
// SPDX-License-Identifier: Apache-2.0
#include "bench/kv_cache.h"

#include <fmt/format.h>
#include <fovea/dsl/half_precision.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "generators/pipelines/cache_kind.h"

namespace fovea::bench {
namespace {

constexpr int64_t largest_page = 1 << 20;

fovea_dtype dtype_of(const KvCacheChoice& choice, fovea_dtype same) {
  switch (cache_kind_of(choice.kind)) {
    case CacheKind::Int8:
      return FOVEA_I8;
    case CacheKind::Int4:
      return FOVEA_I4;
    case CacheKind::E4M3:
      return FOVEA_E4M3;
    case CacheKind::E5M2:
      return FOVEA_E5M2;
    case CacheKind::None:
    case CacheKind::Same:
      break;
  }
  return same;
}

// Half the distance of neighbours, as a share of the largest number of a group.
double half_step(CacheKind kind) {
  switch (kind) {
    case CacheKind::Int8:
      return 0.5 / 127;
    case CacheKind::Int4:
      return 0.5 / 7;
    case CacheKind::E4M3:
      return 0x1p-4;
    case CacheKind::E5M2:
      return 0x1p-3;
    case CacheKind::None:
    case CacheKind::Same:
      break;
  }
  return 0;
}

size_t row_bytes(fovea_dtype dtype, int64_t features) {
  if (dtype == FOVEA_I4) return static_cast<size_t>(features) / 2;
  const bool byte = dtype == FOVEA_I8 || dtype == FOVEA_E4M3 || dtype == FOVEA_E5M2;
  return static_cast<size_t>(features) * (byte ? 1 : static_cast<size_t>(element_size(dtype)));
}

// The largest magnitude of an element, and the largest sum of magnitudes of a row.
struct Sizes {
  double element = 0, row = 0;
};
Sizes sizes_of(const fovea_tensor& t) {
  Sizes s;
  const auto* at = static_cast<const unsigned char*>(t.data);
  const int64_t rows = t.extent[0] * t.extent[1] * t.extent[2];
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t d = 0; d < t.extent[3]; ++d, at += element_size(t.dtype)) {
      const double size = std::fabs(static_cast<double>(load_element(at, t.dtype)));
      s.element = std::max(s.element, size);
      sum += size;
    }
    s.row = std::max(s.row, sum);
  }
  return s;
}

}  // namespace

std::string KvCacheChoice::text() const {
  return page_size == 0 ? kind : fmt::format("{}:{}", kind, page_size);
}

KvCacheChoice parse_kv_cache(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  KvCacheChoice choice;
  choice.kind = text.substr(0, colon);
  try {
    cache_kind_of(choice.kind);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--kv-cache '{}': {}", text, error.what()));
  }
  if (colon == text.size()) return choice;
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, choice.page_size);
  const bool power = choice.page_size > 0 && (choice.page_size & (choice.page_size - 1)) == 0;
  if (error != std::errc() || end != last || !power || choice.page_size > largest_page ||
      choice.kind == "none") {
    throw std::invalid_argument(fmt::format(
        "--kv-cache '{}': allowed is none, or same, int8, int4, e4m3, e5m2, each alone or with a "
        "page size after a colon, a power of two up to {}",
        text, largest_page));
  }
  return choice;
}

fovea_tensor KvCache::pool_(fovea_dtype dtype, int64_t outer, int64_t rows, int64_t features) {
  const int64_t heads = append_.k_new.extent[1];
  const size_t row = row_bytes(dtype, features);
  memory_.emplace_back(row * static_cast<size_t>(outer * heads * rows));
  bytes_ += static_cast<double>(memory_.back().size());
  return {memory_.back().data(),
          dtype,
          {outer, heads, rows, features},
          {heads * rows * features, rows * features, features, 1}};
}

KvCache::KvCache(const KvCacheChoice& choice, const Problem& problem) : choice_(choice) {
  const ExampleShape& s = problem.shape();
  cache_.size = sizeof(cache_);
  append_.size = sizeof(append_);
  append_.k_new = problem.call().k;
  append_.v_new = problem.call().v;
  int64_t outer = s.batch, rows = s.kv_len;
  if (choice.page_size > 0) {
    const int64_t columns = (s.kv_len + choice.page_size - 1) / choice.page_size;
    outer = s.batch * columns;
    rows = choice.page_size;
    table_.resize(static_cast<size_t>(outer));
    std::iota(table_.begin(), table_.end(), 0);
    std::shuffle(table_.begin(), table_.end(), std::mt19937(1));  // the same in every run
    cache_.block_table = table_.data();
    cache_.block_table_columns = cache_.block_table_stride = columns;
  }
  const fovea_dtype dtype = dtype_of(choice, problem.dtype());
  append_.k = pool_(dtype, outer, rows, s.d_qk);
  append_.v = pool_(dtype, outer, rows, s.d_v);
  if (dtype == FOVEA_I8 || dtype == FOVEA_I4) {
    cache_.k_scale = pool_(FOVEA_F16, outer, rows, 1);
    cache_.v_scale = pool_(FOVEA_F16, outer, rows, 1);
  }
  append_.cache = &cache_;
  lengths_.assign(static_cast<size_t>(s.batch), static_cast<int32_t>(s.kv_len));
}

void KvCache::attach(fovea_call& call) const {
  call.k = append_.k;
  call.v = append_.v;
  call.cache = &cache_;
  call.kv_len = lengths_.data();
}

double KvCache::error(const Problem& problem) const {
  const double step = half_step(cache_kind_of(choice_.kind));
  if (step == 0) return 0;
  const fovea_call& call = problem.call();
  const double scale = 1 / std::sqrt(static_cast<double>(call.q.extent[3]));
  // Every score is off by so much at most, every weight by its exponential, twice: itself and in
  // the sum that it is divided by.
  const double score = scale * sizes_of(call.q).row * step * sizes_of(call.k).element;
  return (std::expm1(2 * score) + step) * sizes_of(call.v).element;
}

}  // namespace fovea::bench
