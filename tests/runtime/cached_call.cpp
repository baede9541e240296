// SPDX-License-Identifier: Apache-2.0
#include "cached_call.h"

#include <atomic>
#include <cmath>
#include <mutex>

#include "cpu_detect.h"

namespace fovea::test {
namespace {

using detail::HalideBuffer;

std::mutex mutex;
std::vector<CachedSeen> records;
std::atomic<int> finishes{0};
fovea_pass failing_pass = FOVEA_APPEND;
int failing_code = 0;

void read_cache(ArgumentReader& reader, CachedSeen* seen) {
  const HalideBuffer& pages = reader.raw();
  const auto* page = reinterpret_cast<const int32_t*>(pages.host);
  seen->pages.assign(page, page + pages.dim[0].extent);
  seen->page_shift = reader.integer();
  seen->ring_sinks = reader.integer();
  seen->ring_begin = reader.integer();
  seen->ring_slot = reader.integer();
  seen->ring_end = reader.integer();
  if (seen->cache < FOVEA_CACHE_I8) return;
  seen->k_scale = reader.buffer();
  seen->v_scale = reader.buffer();
  seen->k_group_shift = reader.integer();
  seen->v_group_shift = reader.integer();
}

// Adds 1 to every element, so that tests see which rows were computed how often.
void count_rows(const BufferSeen& out) {
  for (int32_t row = 0; row < out.shape[2]; ++row) {
    for (int32_t d = 0; d < out.shape[0]; ++d)
      static_cast<float*>(out.host)[int64_t{row} * out.shape[3] + d] += 1;
  }
}

template <fovea_cache_kind kKind>
int fake_prefill(void** argv) {
  CachedSeen now = {};
  now.pass = FOVEA_PREFILL;
  now.cache = kKind;
  ArgumentReader reader(argv);
  reader.skip();  // user context
  now.q = reader.buffer();
  now.k = reader.buffer();
  now.v = reader.buffer();
  now.q_block = reader.integer();
  now.q_offset = reader.integer();
  now.q_len = reader.integer();
  now.kv_len = reader.integer();
  now.batch = reader.integer();
  now.head = reader.integer();
  now.kv_head = reader.integer();
  reader.skip();  // scale
  if (kKind != FOVEA_CACHE_NONE) read_cache(reader, &now);
  now.number = reader.integer();
  now.out = reader.buffer();
  count_rows(now.out);
  const std::lock_guard<std::mutex> lock(mutex);
  records.push_back(now);
  return now.pass == failing_pass ? failing_code : 0;
}

template <fovea_cache_kind kKind>
int fake_part(void** argv) {
  CachedSeen now = {};
  now.pass = FOVEA_DECODE;
  now.cache = kKind;
  ArgumentReader reader(argv);
  reader.skip();  // user context
  now.q = reader.buffer();
  now.k = reader.buffer();
  now.v = reader.buffer();
  reader.skip();  // heads
  now.first_row = reader.integer();
  now.block_begin = reader.integer();
  now.block_end = reader.integer();
  now.q_offset = reader.integer();
  now.q_len = reader.integer();
  now.kv_len = reader.integer();
  now.batch = reader.integer();
  now.kv_head = reader.integer();
  reader.skip();  // scale
  if (kKind != FOVEA_CACHE_NONE) read_cache(reader, &now);
  now.number = reader.integer();
  now.out = reader.buffer();
  const std::lock_guard<std::mutex> lock(mutex);
  records.push_back(now);
  return now.pass == failing_pass ? failing_code : 0;
}

// Every key block; of rings it knows nothing.
int fake_range(void** argv) {
  ArgumentReader reader(argv);
  for (int i = 0; i < 4; ++i) reader.skip();
  const int32_t kv_len = reader.integer();
  for (int i = 0; i < 3; ++i) reader.skip();  // batch, KV head, the parameter
  auto* range = reinterpret_cast<int32_t*>(reader.raw().host);
  range[0] = 0;
  range[1] = (kv_len + kCachedKeyBlock - 1) / kCachedKeyBlock;
  return 0;
}

int fake_finish(void** argv) {
  ++finishes;
  ArgumentReader reader(argv);
  for (int i = 0; i < 10; ++i) reader.skip();  // all up to the parameter
  count_rows(reader.buffer());
  return 0;
}

struct Params {
  int32_t number;
};
const fovea_parameter_info kParameters[] = {
    {"number", FOVEA_SCALAR, FOVEA_I32, 0, 0, HUGE_VAL, 0, 0, {}, {}}};
const fovea_variant_info kVariant = {"cached", 9, kParameters, 1, FOVEA_OUTPUT_PROBABILITIES, 1, 0};

const fovea_target_info* target() {
  static const fovea_target_info row = {"x86-sse41", detail::cpu_architecture(), 0, 10};
  return &row;
}

template <fovea_cache_kind kKind>
void add_kernels(const char* prefill, const char* decode, std::vector<fovea_kernel_info>* kernels) {
  static const fovea_decode_part parts[] = {{1, &fake_part<kKind>}, {4, &fake_part<kKind>}};
  static const fovea_decode_info info = {kCachedKeyBlock, kCachedChunkBlocks, 1, 1, 1, 0, 2, parts,
                                         &fake_range,     &fake_finish};
  kernels->push_back({prefill, 0, 0, FOVEA_PREFILL, FOVEA_F32, kKind, 32, 32, kCachedBlockRows, 0,
                      &fake_prefill<kKind>, nullptr, 0, 0});
  kernels->push_back(
      {decode, 0, 0, FOVEA_DECODE, FOVEA_F32, kKind, 32, 32, 4, 0, nullptr, &info, 0, 0});
}

}  // namespace

CachedElement cached_element(fovea_cache_kind kind) {
  switch (kind) {
    case FOVEA_CACHE_I8:
      return {FOVEA_I8, 8};
    case FOVEA_CACHE_I4:
      return {FOVEA_I4, 4};
    case FOVEA_CACHE_E4M3:
      return {FOVEA_E4M3, 8};
    case FOVEA_CACHE_E5M2:
      return {FOVEA_E5M2, 8};
    default:
      return {FOVEA_F32, 32};
  }
}

void forget_cached() {
  const std::lock_guard<std::mutex> lock(mutex);
  records.clear();
  finishes = 0;
  failing_code = 0;
}

void fail_in(fovea_pass pass, int code) {
  const std::lock_guard<std::mutex> lock(mutex);
  failing_pass = pass;
  failing_code = code;
}

std::vector<CachedSeen> cached_seen() {
  const std::lock_guard<std::mutex> lock(mutex);
  return records;
}

int cached_finishes() { return finishes; }

CachedCall::CachedCall(fovea_cache_kind kind, Pages pages, int64_t rows) {
  add_kernels<FOVEA_CACHE_NONE>("prefill_none", "decode_none", &kernels);
  add_kernels<FOVEA_CACHE_SAME>("prefill_same", "decode_same", &kernels);
  add_kernels<FOVEA_CACHE_I8>("prefill_int8", "decode_int8", &kernels);
  add_kernels<FOVEA_CACHE_I4>("prefill_int4", "decode_int4", &kernels);
  add_kernels<FOVEA_CACHE_E4M3>("prefill_e4m3", "decode_e4m3", &kernels);
  add_kernels<FOVEA_CACHE_E5M2>("prefill_e5m2", "decode_e5m2", &kernels);
  library = {FOVEA_ABI_VERSION, "cached", &kVariant,      1,
             target(),          1,        kernels.data(), static_cast<int32_t>(kernels.size())};

  const CachedElement element = cached_element(kind);
  const Shape slots = pages == Pages::kTable ? Shape{7, 2, 8, 32} : Shape{2, 2, 24, 32};
  const Shape scales = {slots.batch, slots.heads, slots.rows, 1};
  const int64_t count = slots.batch * slots.heads * slots.rows;
  q.assign(static_cast<size_t>(2 * 4 * rows * 32), 1);
  out.assign(q.size(), 0);
  k.assign(static_cast<size_t>(count * 32 * element.bits / 8), 1);
  v = k;
  call = Call(tensor(q.data(), {2, 4, rows, 32}),
              tensor(k.data(), element.dtype, slots, bhsd_strides(slots)),
              tensor(v.data(), element.dtype, slots, bhsd_strides(slots)),
              tensor(out.data(), {2, 4, rows, 32}));
  if (element.bits <= 8) {
    k_scale.assign(static_cast<size_t>(count * 2), 0);
    v_scale = k_scale;
    cache.k_scale = tensor(k_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
    cache.v_scale = tensor(v_scale.data(), FOVEA_F16, scales, bhsd_strides(scales));
  }
  if (pages == Pages::kTable) {
    cache.block_table = block_table.data();
    cache.block_table_columns = cache.block_table_stride = 3;
  }
  call.kv_len = kv_len.data();
  call.cache = &cache;
  call.exec = &exec;
}

fovea_status CachedCall::run() { return fovea_variant_run(&library, 0, &call, &number); }
size_t CachedCall::workspace() { return fovea_variant_workspace(&library, 0, &call); }

std::string CachedCall::explain() {
  char text[4096];
  fovea_variant_explain(&library, 0, &call, text, sizeof(text));
  return text;
}

}  // namespace fovea::test
