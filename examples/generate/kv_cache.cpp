// SPDX-License-Identifier: Apache-2.0
#include "kv_cache.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace generate {
namespace {

constexpr std::int64_t kPageSize = 16;
// A pool that other sequences use as well has more pages than one of them needs.
constexpr std::int64_t kSparePages = 5;
// Four bits tell fifteen numbers apart: half a row of 32 features has a scale of its own.
constexpr std::int64_t kInt4Group = 16;

fovea_dtype dtype_of(CacheKind kind) {
  switch (kind) {
    case CacheKind::Int8:
      return FOVEA_I8;
    case CacheKind::Int4:
      return FOVEA_I4;
    case CacheKind::E4M3:
      return FOVEA_E4M3;
    case CacheKind::E5M2:
      return FOVEA_E5M2;
    default:
      return FOVEA_F32;
  }
}

std::size_t bits_of(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return 32;
    case FOVEA_F16:
      return 16;
    case FOVEA_I4:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

const std::vector<CacheKind>& all_cache_kinds() {
  static const std::vector<CacheKind> kinds = {
      CacheKind::None, CacheKind::Contiguous, CacheKind::Paged, CacheKind::Ring,
      CacheKind::Int8, CacheKind::Int4,       CacheKind::E4M3,  CacheKind::E5M2};
  return kinds;
}

const char* name_of(CacheKind kind) {
  switch (kind) {
    case CacheKind::None:
      return "none";
    case CacheKind::Contiguous:
      return "contiguous";
    case CacheKind::Paged:
      return "paged";
    case CacheKind::Ring:
      return "ring";
    case CacheKind::Int8:
      return "int8";
    case CacheKind::Int4:
      return "int4";
    case CacheKind::E4M3:
      return "e4m3";
    case CacheKind::E5M2:
      return "e5m2";
  }
  return "";
}

bool is_quantised(CacheKind kind) { return dtype_of(kind) != FOVEA_F32; }

fovea_tensor KvCache::pool_(fovea_dtype dtype, std::int64_t features) {
  const auto elements = static_cast<std::size_t>(outer_ * heads_ * slots_ * features);
  memory_.emplace_back(elements * bits_of(dtype) / 8);
  return {memory_.back().data(),
          dtype,
          {outer_, heads_, slots_, features},
          {heads_ * slots_ * features, slots_ * features, features, 1}};
}

KvCache::KvCache(CacheKind kind, const CacheShape& shape)
    : heads_(shape.kv_heads), slots_(shape.positions) {
  fovea_cache layout = {};
  layout.size = sizeof(layout);
  if (kind == CacheKind::Paged) {
    const std::int64_t columns = (shape.positions + kPageSize - 1) / kPageSize;
    outer_ = columns + kSparePages;
    slots_ = kPageSize;
    block_table_.resize(static_cast<std::size_t>(outer_));
    std::iota(block_table_.begin(), block_table_.end(), 0);
    std::shuffle(block_table_.begin(), block_table_.end(), std::mt19937(1));
    block_table_.resize(static_cast<std::size_t>(columns));
    layout.block_table = block_table_.data();  // all layers use their pages in the same order
    layout.block_table_columns = layout.block_table_stride = columns;
  }
  if (kind == CacheKind::Ring) {
    if (shape.window == 0) throw std::invalid_argument("a ring needs a window");
    // Tokens that are appended together push out what the first of them still sees.
    layout.ring_window = shape.window + static_cast<std::int32_t>(shape.most_tokens_once) - 1;
    layout.ring_sinks = shape.sinks;
    slots_ = layout.ring_sinks + layout.ring_window;
  }
  const fovea_dtype dtype = dtype_of(kind);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    Layer layer = {pool_(dtype, shape.head_dim), pool_(dtype, shape.head_dim), layout};
    // The 8-bit floats do without scales: keys and values lie well within their range.
    if (dtype == FOVEA_I8 || dtype == FOVEA_I4) {
      const std::int64_t groups = dtype == FOVEA_I4 ? shape.head_dim / kInt4Group : 1;
      layer.layout.k_scale = pool_(FOVEA_F16, groups);
      layer.layout.v_scale = pool_(FOVEA_F16, groups);
    }
    layers_.push_back(layer);
  }
}

std::size_t KvCache::bytes() const {
  std::size_t sum = block_table_.size() * sizeof(std::int32_t);
  for (const auto& pool : memory_) sum += pool.size();
  return sum;
}

}  // namespace generate
