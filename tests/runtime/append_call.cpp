// SPDX-License-Identifier: Apache-2.0
#include "append_call.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "cpu_detect.h"

namespace fovea::test {
namespace {

std::mutex mutex;
std::vector<AppendSeen> records;
int code_to_return = 0;

int64_t offset_of(const BufferSeen& buffer, int32_t i, int32_t row) {
  return int64_t{i} * buffer.shape[1] + int64_t{row} * buffer.shape[3];
}

template <typename T>
void fill(const BufferSeen& buffer, int32_t first) {
  for (int32_t row = 0; row < buffer.shape[2]; ++row) {
    for (int32_t i = 0; i < buffer.shape[0]; ++i)
      static_cast<T*>(buffer.host)[offset_of(buffer, i, row)] = static_cast<T>(first + row);
  }
}

void copy(const BufferSeen& from, const BufferSeen& to) {
  for (int32_t row = 0; row < to.shape[2]; ++row) {
    for (int32_t i = 0; i < to.shape[0]; ++i) {
      static_cast<float*>(to.host)[offset_of(to, i, row)] =
          static_cast<const float*>(from.host)[offset_of(from, i, row)];
    }
  }
}

template <fovea_cache_kind kKind>
int fake_append(void** argv) {
  constexpr bool kQuantised = kKind >= FOVEA_CACHE_I8;
  AppendSeen now = {};
  now.cache = kKind;
  ArgumentReader reader(argv);
  auto* scratch = static_cast<fovea_scratch*>(reader.pointer());
  now.k_new = reader.buffer();
  now.v_new = reader.buffer();
  now.first_key = reader.integer();
  now.batch = reader.integer();
  now.kv_head = reader.integer();
  if (kQuantised) {
    now.k_group_shift = reader.integer();
    now.v_group_shift = reader.integer();
    now.has_scales = reader.integer();
  }
  now.number = reader.integer();
  now.k = reader.buffer();
  now.v = reader.buffer();
  if (kQuantised) {
    now.k_scale = reader.buffer();
    now.v_scale = reader.buffer();
    void* piece = fovea_scratch_allocate(scratch, 64);
    if (piece == nullptr) return -99;
    std::memset(piece, 0xee, 64);
    fovea_scratch_release(scratch, piece);
    fill<uint8_t>(now.k, now.first_key);
    fill<uint8_t>(now.v, now.first_key + 100);
    fill<uint16_t>(now.k_scale, now.first_key);
    fill<uint16_t>(now.v_scale, now.first_key + 100);
  } else {
    copy(now.k_new, now.k);
    copy(now.v_new, now.v);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  records.push_back(now);
  return code_to_return;
}

// The transforms ask for the second one alone, so append kernels take that alone.
const fovea_parameter_info kParameters[] = {
    {"window", FOVEA_SCALAR, FOVEA_I32, offsetof(AppendParams, window), 0, HUGE_VAL, 0, 0, {}, {}},
    {"number", FOVEA_SCALAR, FOVEA_I32, offsetof(AppendParams, number), 0, HUGE_VAL, 0, 0, {}, {}}};
// Outputs make no difference to appending.
const fovea_variant_info kVariant = {
    "appended", 9, kParameters, 2, FOVEA_OUTPUT_LSE | FOVEA_OUTPUT_ROW_MAX, 1, 1U << 1};

const fovea_target_info* target() {
  static const fovea_target_info row = {"x86-sse41", detail::cpu_architecture(), 0, 10};
  return &row;
}

template <fovea_cache_kind kKind>
fovea_kernel_info kernel(const char* name) {
  return {name,
          0,
          0,
          FOVEA_APPEND,
          FOVEA_F32,
          kKind,
          32,
          32,
          kAppendBlockRows,
          kKind >= FOVEA_CACHE_I8 ? size_t{256} : size_t{0},
          &fake_append<kKind>,
          nullptr,
          0,
          0};
}

}  // namespace

void forget_appended() {
  const std::lock_guard<std::mutex> lock(mutex);
  records.clear();
  code_to_return = 0;
}

std::vector<AppendSeen> appended() {
  const std::lock_guard<std::mutex> lock(mutex);
  return records;
}

void fail_append_with(int code) {
  const std::lock_guard<std::mutex> lock(mutex);
  code_to_return = code;
}

float token_number(int64_t b, int64_t head, int64_t token, int64_t d) {
  return static_cast<float>(((b * 2 + head) * 1000 + token) * 32 + d);
}

AppendCall::AppendCall(fovea_cache_kind kind, Pages pages, int64_t tokens)
    : has_pages(pages == Pages::kTable) {
  kernels = {kernel<FOVEA_CACHE_SAME>("append_same"), kernel<FOVEA_CACHE_I8>("append_int8"),
             kernel<FOVEA_CACHE_I4>("append_int4"), kernel<FOVEA_CACHE_E4M3>("append_e4m3"),
             kernel<FOVEA_CACHE_E5M2>("append_e5m2")};
  library = {FOVEA_ABI_VERSION, "appended", &kVariant,      1,
             target(),          1,          kernels.data(), static_cast<int32_t>(kernels.size())};
  const CachedElement element = cached_element(kind);
  const Shape slots = has_pages ? Shape{7, 2, 8, 32} : Shape{2, 2, 24, 32};
  const Shape scales = {slots.batch, slots.heads, slots.rows, 1};
  const int64_t count = slots.batch * slots.heads * slots.rows;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < 2 * tokens * 32; ++i)
      k_new.push_back(token_number(b, i / (tokens * 32), i / 32 % tokens, i % 32));
  }
  for (const float x : k_new) v_new.push_back(-x - 100);
  const Shape rows = {2, 2, tokens, 32};
  k.assign(static_cast<size_t>(count * 32 * element.bits / 8), 0xfd);
  if (element.bits == 32) {
    const float untouched = kUntouched;
    for (size_t i = 0; i < k.size(); i += 4) std::memcpy(&k[i], &untouched, 4);
  }
  v = k;
  append.size = sizeof(append);
  append.k_new = tensor(k_new.data(), rows);
  append.v_new = tensor(v_new.data(), rows);
  append.k = tensor(k.data(), element.dtype, slots, bhsd_strides(slots));
  append.v = tensor(v.data(), element.dtype, slots, bhsd_strides(slots));
  if (element.bits <= 8) {
    k_scale.assign(static_cast<size_t>(count * 2), 0xfd);
    v_scale = k_scale;
    cache.k_scale = tensor(k_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
    cache.v_scale = tensor(v_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
  }
  if (has_pages) {
    cache.block_table = block_table.data();
    cache.block_table_columns = cache.block_table_stride = 3;
  }
  append.kv_len = kv_len.data();
  append.new_len = new_len.data();
  append.cache = &cache;
  append.exec = &exec;
}

fovea_status AppendCall::run() { return fovea_variant_append(&library, 0, &append, &params); }

float AppendCall::f32_at(const std::vector<unsigned char>& memory, int64_t b, int64_t head,
                         int64_t slot, int64_t d) const {
  const fovea_tensor& tensor = append.k;
  int64_t row = slot;
  int64_t first = b;
  if (has_pages) {
    first = cache.block_table[b * cache.block_table_stride + slot / 8];
    row = slot % 8;
  }
  const int64_t element =
      first * tensor.stride[0] + head * tensor.stride[1] + row * tensor.stride[2] + d;
  float value = 0;
  std::memcpy(&value, memory.data() + element * 4, 4);
  return value;
}

}  // namespace fovea::test
