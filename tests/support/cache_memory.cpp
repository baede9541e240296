// SPDX-License-Identifier: Apache-2.0
#include "cache_memory.h"

#include <fmt/format.h>
#include <fovea/dsl/half_precision.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace fovea::test {
namespace {

int64_t bits_of(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
    case FOVEA_I32:
      return 32;
    case FOVEA_F16:
    case FOVEA_BF16:
      return 16;
    case FOVEA_I4:
      return 4;
    default:
      return 8;
  }
}

// Digits and exponents as the definition of the format has them.
float small_float(unsigned bits, int digits, int bias) {
  const unsigned magnitude = bits & 0x7f, exponent = magnitude >> digits;
  const auto fraction = static_cast<float>(magnitude & ((1u << digits) - 1));
  const float one = std::ldexp(1.0f, digits);
  const float number = exponent == 0
                           ? std::ldexp(fraction / one, 1 - bias)
                           : std::ldexp(1 + fraction / one, static_cast<int>(exponent) - bias);
  return (bits & 0x80) != 0 ? -number : number;
}

}  // namespace

std::string CacheSetup::text() const {
  return fmt::format("page_size={} slots={} sinks={} window={} groups={} scales={}{}{}", page_size,
                     slots, ring_sinks, ring_window, groups, has_scales ? 1 : 0,
                     packed_scales ? " packed" : "", rows_outside ? " rows outside" : "");
}

fovea_dtype cache_dtype(const TestKernel& kernel) {
  switch (kernel.info().cache) {
    case FOVEA_CACHE_I8:
      return FOVEA_I8;
    case FOVEA_CACHE_I4:
      return FOVEA_I4;
    case FOVEA_CACHE_E4M3:
      return FOVEA_E4M3;
    case FOVEA_CACHE_E5M2:
      return FOVEA_E5M2;
    case FOVEA_CACHE_NONE:
    case FOVEA_CACHE_SAME:
      break;
  }
  return kernel.dtype();
}

bool is_quantised(const TestKernel& kernel) { return cache_dtype(kernel) != kernel.dtype(); }

float plain_number(fovea_dtype dtype, unsigned bits) {
  switch (dtype) {
    case FOVEA_I8:
      return static_cast<float>(static_cast<int8_t>(bits));
    case FOVEA_I4:
      return static_cast<float>(static_cast<int>(bits) - 8);
    case FOVEA_E4M3:
      return (bits & 0x7f) == 0x7f ? NAN : small_float(bits, 3, 7);
    default:
      if ((bits & 0x7f) > 0x7c) return NAN;
      return (bits & 0x7f) == 0x7c ? INFINITY : small_float(bits, 2, 15);
  }
}

CacheMemory::CacheMemory(const TestKernel& kernel, int64_t batch, int64_t kv_heads,
                         const CacheSetup& setup, const std::vector<int64_t>& used_slots,
                         Random& random)
    : kernel_(kernel), setup_(setup), batch_(batch), kv_heads_(kv_heads) {
  cache.size = sizeof(cache);
  cache.ring_sinks = setup.ring_sinks;
  cache.ring_window = setup.ring_window;
  if (setup.page_size > 0) {
    const int64_t columns = setup.slots / setup.page_size;
    pages_ = batch * columns + 1;
    std::vector<int32_t> order(static_cast<size_t>(pages_));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random.integer(0, int64_t(i) - 1))]);
    // The last sequence may have an unused tail, which is not there at all.
    const int64_t used_last = (used_slots.back() + setup.page_size - 1) / setup.page_size;
    const int64_t entries = (batch - 1) * columns + used_last;
    table_ =
        std::make_shared<GuardedMemory>(static_cast<size_t>(entries) * sizeof(int32_t), Edge::End);
    auto* table = reinterpret_cast<int32_t*>(table_->data());
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t used =
          (used_slots[static_cast<size_t>(b)] + setup.page_size - 1) / setup.page_size;
      for (int64_t j = 0; j < columns && b * columns + j < entries; ++j) {
        table[b * columns + j] = j < used ? order[static_cast<size_t>(b * columns + j)]
                                          : random.pick<int32_t>({INT32_MAX, -7, INT32_MIN});
      }
    }
    cache.block_table = table;
    cache.block_table_columns = columns;
    cache.block_table_stride = columns;
  }
  const fovea_dtype dtype = cache_dtype(kernel);
  // A row is a little longer than its features, and starts at a whole byte.
  const int64_t gap = dtype == FOVEA_I4 ? 2 : 1;
  k_ = make_pool_(dtype, kernel.info().d_qk, kernel.info().d_qk + gap);
  v_ = make_pool_(dtype, kernel.info().d_v, kernel.info().d_v + gap);
  if (is_quantised(kernel) && setup.has_scales) {
    const int64_t row = setup.groups + (setup.packed_scales ? 0 : 1);
    k_scale_ = make_pool_(FOVEA_F16, setup.groups, row);
    v_scale_ = make_pool_(FOVEA_F16, setup.groups, row);
    cache.k_scale = k_scale_.view;
    cache.v_scale = v_scale_.view;
  }
}

CacheMemory::Pool CacheMemory::make_pool_(fovea_dtype dtype, int64_t features, int64_t row) {
  const int64_t outer = pages_ > 0 ? pages_ : batch_;
  const int64_t rows = pages_ > 0 ? setup_.page_size : setup_.slots;
  Pool pool;
  pool.view.dtype = dtype;
  const int64_t extent[] = {outer, kv_heads_, rows, features};
  const int64_t heads_outside[] = {kv_heads_ * rows * row, rows * row, row, 1};
  const int64_t rows_outside[] = {kv_heads_ * rows * row, row, kv_heads_ * row, 1};
  for (int i = 0; i < 4; ++i) {
    pool.view.extent[i] = extent[i];
    pool.view.stride[i] = setup_.rows_outside ? rows_outside[i] : heads_outside[i];
  }
  const int64_t elements = outer * kv_heads_ * rows * row;
  memory_.push_back(std::make_shared<GuardedMemory>(
      static_cast<size_t>((elements * bits_of(dtype) + 7) / 8), Edge::End));
  pool.view.data = memory_.back()->data();
  return pool;
}

int32_t* CacheMemory::table(int64_t b) const {
  if (!table_) return nullptr;
  return reinterpret_cast<int32_t*>(table_->data()) + b * cache.block_table_stride;
}

unsigned char* CacheMemory::row_(const Pool& pool, int64_t b, int64_t h, int64_t key) const {
  int64_t slot = key;
  if (setup_.ring_window > 0 && key >= setup_.ring_sinks)
    slot = setup_.ring_sinks + (key - setup_.ring_sinks) % setup_.ring_window;
  int64_t outer = b;
  if (pages_ > 0) {
    outer = table(b)[slot / setup_.page_size];
    slot %= setup_.page_size;
  }
  const int64_t element =
      outer * pool.view.stride[0] + h * pool.view.stride[1] + slot * pool.view.stride[2];
  return static_cast<unsigned char*>(pool.view.data) + element * bits_of(pool.view.dtype) / 8;
}

double CacheMemory::scale_(const Pool& scales, int64_t size, int64_t b, int64_t h, int64_t key,
                           int64_t d) const {
  if (scales.view.data == nullptr) return 1;
  uint16_t bits = 0;
  std::memcpy(&bits, row_(scales, b, h, key) + 2 * (d / (size / setup_.groups)), sizeof(bits));
  return widened_f16(bits);
}

double CacheMemory::number_(const Pool& pool, const Pool& scales, int64_t b, int64_t h, int64_t key,
                            int64_t d) const {
  const unsigned char* row = row_(pool, b, h, key);
  if (!is_quantised(kernel_))
    return load_element(row + d * bits_of(pool.view.dtype) / 8, pool.view.dtype);
  unsigned bits = 0;
  if (pool.view.dtype == FOVEA_I4) {
    bits = row[d / 32 * 16 + d % 16] >> (d / 16 % 2 * 4) & 15u;
  } else {
    bits = row[d];
  }
  return plain_number(pool.view.dtype, bits) * scale_(scales, pool.view.extent[3], b, h, key, d);
}

double CacheMemory::key(int64_t b, int64_t h, int64_t key, int64_t d) const {
  return number_(k_, k_scale_, b, h, key, d);
}
double CacheMemory::value(int64_t b, int64_t h, int64_t key, int64_t d) const {
  return number_(v_, v_scale_, b, h, key, d);
}
double CacheMemory::key_scale(int64_t b, int64_t h, int64_t key, int64_t d) const {
  return scale_(k_scale_, k_.view.extent[3], b, h, key, d);
}
double CacheMemory::value_scale(int64_t b, int64_t h, int64_t key, int64_t d) const {
  return scale_(v_scale_, v_.view.extent[3], b, h, key, d);
}

void CacheMemory::set_key_scale(int64_t b, int64_t h, int64_t key, double scale) {
  store_element(row_(k_scale_, b, h, key), FOVEA_F16, static_cast<float>(scale));
}
void CacheMemory::set_value_scale(int64_t b, int64_t h, int64_t key, double scale) {
  store_element(row_(v_scale_, b, h, key), FOVEA_F16, static_cast<float>(scale));
}
void CacheMemory::set_key(int64_t b, int64_t h, int64_t key, int64_t d, double number) {
  store_element(row_(k_, b, h, key) + d * bits_of(k_.view.dtype) / 8, k_.view.dtype,
                static_cast<float>(number));
}
void CacheMemory::set_value(int64_t b, int64_t h, int64_t key, int64_t d, double number) {
  store_element(row_(v_, b, h, key) + d * bits_of(v_.view.dtype) / 8, v_.view.dtype,
                static_cast<float>(number));
}

fovea_append CacheMemory::empty_append() const {
  fovea_append append = {};
  append.size = sizeof(append);
  append.k = k_.view;
  append.v = v_.view;
  append.cache = &cache;
  return append;
}

fovea_status CacheMemory::append(const Problem& problem, const std::vector<int32_t>& from,
                                 const std::vector<int32_t>& to) {
  fovea_append append = empty_append();
  // The tokens of all sequences begin at one row of k_new: those from different ones come one
  // sequence at a time.
  for (int64_t b = 0; b < batch_; ++b) {
    const auto i = static_cast<size_t>(b);
    if (to[i] <= from[i]) continue;
    std::vector<int32_t> lengths(static_cast<size_t>(batch_), 0);
    lengths[i] = to[i] - from[i];
    append.new_len = lengths.data();
    append.kv_len = from.data();
    for (const auto& [tensor, source] : {std::pair{&append.k_new, &problem.k.view()},
                                         std::pair{&append.v_new, &problem.v.view()}}) {
      *tensor = *source;
      tensor->data = static_cast<unsigned char*>(source->data) +
                     from[i] * source->stride[2] * element_size(source->dtype);
      tensor->extent[2] = source->extent[2] - from[i];
    }
    append.exec = &problem.exec;
    const fovea_status status = fovea_variant_append(kernel_.library, kernel_.info().variant,
                                                     &append, problem.params.data());
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

void CacheMemory::attach(fovea_call& call) const {
  call.k = k_.view;
  call.v = v_.view;
  call.cache = &cache;
}

bool CacheMemory::untouched_outside() const {
  return std::all_of(memory_.begin(), memory_.end(),
                     [](const auto& memory) { return memory->untouched_outside(); });
}

}  // namespace fovea::test
