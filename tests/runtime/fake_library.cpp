// SPDX-License-Identifier: Apache-2.0
#include "fake_library.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "cpu_detect.h"
#include "halide_abi.h"

namespace fovea::test {
namespace {

using detail::HalideBuffer;

std::mutex mutex;
std::vector<Seen> records;
int32_t failing_item[3];
int failing_code = 0;
int pool_call_count = 0;
int pool_task_count = 0;

template <typename T>
T value(void* argument) {
  T result;
  std::memcpy(&result, argument, sizeof(result));
  return result;
}

std::vector<int32_t> shape_of(const HalideBuffer* buffer) {
  std::vector<int32_t> shape = {buffer->dimensions};
  for (int32_t i = 0; i < buffer->dimensions; ++i) {
    shape.push_back(buffer->dim[i].extent);
    shape.push_back(buffer->dim[i].stride);
  }
  return shape;
}

// Takes all the scratch that the kernel is declared to need, in two pieces, and watches it.
bool use_scratch(void* scratch) {
  constexpr size_t kPiece = (kScratchBytes - 2 * 64) / 2 / 64 * 64;
  unsigned char* pieces[2];
  for (auto& piece : pieces) {
    piece = static_cast<unsigned char*>(fovea_scratch_allocate(scratch, kPiece));
    if (piece == nullptr || reinterpret_cast<uintptr_t>(piece) % 64 != 0) return false;
  }
  static std::atomic<int> ticket{0};
  const int mine = ticket.fetch_add(1) & 0xff;
  for (auto* piece : pieces) std::memset(piece, mine, kPiece);
  std::this_thread::yield();
  bool intact = true;
  for (auto* piece : pieces) {
    for (size_t i = 0; i < kPiece; ++i) intact = intact && piece[i] == mine;
  }
  for (auto* piece : pieces) fovea_scratch_release(scratch, piece);
  return intact;
}

float& element(const HalideBuffer* buffer, int64_t i, int64_t j) {
  return reinterpret_cast<float*>(
      buffer->host)[i * buffer->dim[0].stride + (j != 0 ? j * buffer->dim[1].stride : 0)];
}

const HalideBuffer* write_rows(void* argument, float first) {
  const auto* buffer = static_cast<HalideBuffer*>(argument);
  for (int32_t r = 0; r < buffer->dim[0].extent; ++r)
    element(buffer, r, 0) = first + static_cast<float>(r);
  return buffer;
}

// Adds 1 to every output element, so that tests see which were written how often. LSE becomes
// position, the row maximum 1000 more, the row sum 2000 more, a probability a thousandth of the key
// more.
template <int kIndex, Variant kVariant>
int fake_kernel(void** argv) {
  Seen now = {};
  now.kernel = kIndex;
  const auto* q = static_cast<HalideBuffer*>(argv[1]);
  const auto* k = static_cast<HalideBuffer*>(argv[2]);
  const auto* v = static_cast<HalideBuffer*>(argv[3]);
  now.q_block = value<int32_t>(argv[4]);
  now.q_offset = value<int32_t>(argv[5]);
  now.q_len = value<int32_t>(argv[6]);
  now.kv_len = value<int32_t>(argv[7]);
  now.batch = value<int32_t>(argv[8]);
  now.head = value<int32_t>(argv[9]);
  now.kv_head = value<int32_t>(argv[10]);
  now.scale = value<float>(argv[11]);
  int next = 12;
  if (kVariant == kEvery) {
    for (int i = 0; i < 5; ++i)
      now.tables.push_back(shape_of(static_cast<HalideBuffer*>(argv[next++])));
    const auto* allowed = static_cast<HalideBuffer*>(argv[next - 1]);
    now.allowed_type[0] = allowed->type.code;
    now.allowed_type[1] = allowed->type.bits;
  }
  if (kVariant == kFull) {
    now.softcap = value<float>(argv[next++]);
    now.window = value<int32_t>(argv[next++]);
    const auto* slope = static_cast<HalideBuffer*>(argv[next++]);
    now.slope = shape_of(slope);
    now.slope_data = slope->host;
    now.bias = shape_of(static_cast<HalideBuffer*>(argv[next++]));
    ++next;  // extra
  }
  const auto* out = static_cast<HalideBuffer*>(argv[next++]);
  now.rows = out->dim[1].extent;
  now.k_rows = k->dim[1].extent;
  now.v_rows = v->dim[1].extent;
  now.q_stride = q->dim[1].stride;
  now.k_stride = k->dim[1].stride;
  now.v_stride = v->dim[1].stride;
  now.out_stride = out->dim[1].stride;
  now.q = q->host;
  now.k = k->host;
  now.v = v->host;
  now.out = out->host;
  now.scratch_ok = use_scratch(value<void*>(argv[0]));
  if (out->type.bits == 32) {
    for (int32_t r = 0; r < now.rows; ++r) {
      for (int32_t d = 0; d < out->dim[0].extent; ++d) {
        reinterpret_cast<float*>(out->host)[static_cast<int64_t>(r) * now.out_stride + d] += 1;
      }
    }
  }
  const auto first = static_cast<float>(now.q_offset + now.q_block * kBlockRows);
  if (kVariant != kPlain) {
    const HalideBuffer* lse = write_rows(argv[next++], first);
    now.lse = lse->host;
    now.lse_stride = lse->dim[0].stride;
  }
  if (kVariant == kEvery) {
    const HalideBuffer* row_max = write_rows(argv[next++], first + 1000);
    const HalideBuffer* row_sum = write_rows(argv[next++], first + 2000);
    const auto* probabilities = static_cast<HalideBuffer*>(argv[next++]);
    now.row_max = row_max->host;
    now.row_max_stride = row_max->dim[0].stride;
    now.row_sum = row_sum->host;
    now.row_sum_stride = row_sum->dim[0].stride;
    now.probabilities = probabilities->host;
    now.probabilities_shape = shape_of(probabilities);
    for (int32_t r = 0; r < probabilities->dim[1].extent; ++r) {
      for (int32_t key = 0; key < probabilities->dim[0].extent; ++key) {
        element(probabilities, key, r) =
            first + static_cast<float>(r) + static_cast<float>(key) / 1000;
      }
    }
  }
  const std::lock_guard<std::mutex> lock(mutex);
  records.push_back(now);
  const bool fails =
      now.q_block == failing_item[0] && now.batch == failing_item[1] && now.head == failing_item[2];
  return fails ? failing_code : 0;
}

constexpr double kInfinity = HUGE_VAL;

const fovea_parameter_info kFullParameters[] = {
    {"softcap", FOVEA_SCALAR, FOVEA_F32, offsetof(FullParams, softcap), 0, kInfinity, 1, 0, {}, {}},
    {"window", FOVEA_SCALAR, FOVEA_I32, offsetof(FullParams, window), 1, 1000, 0, 0, {}, {}},
    {"slope",
     FOVEA_TABLE,
     FOVEA_F32,
     offsetof(FullParams, slope),
     0,
     0,
     0,
     1,
     {FOVEA_AXIS_HEAD},
     {}},
    {"bias",
     FOVEA_TABLE,
     FOVEA_F32,
     offsetof(FullParams, bias),
     0,
     0,
     0,
     2,
     {FOVEA_AXIS_QUERY, FOVEA_AXIS_KEY},
     {}},
    {"extra",
     FOVEA_TABLE,
     FOVEA_F32,
     offsetof(FullParams, extra),
     0,
     0,
     0,
     4,
     {FOVEA_AXIS_ANY, FOVEA_AXIS_FIXED, FOVEA_AXIS_BATCH, FOVEA_AXIS_KV_HEAD},
     {0, 3, 0, 0}},
};

constexpr fovea_parameter_info every_table(const char* name, fovea_dtype dtype, size_t offset,
                                           int32_t rank, fovea_axis first, fovea_axis second = {}) {
  return {name, FOVEA_TABLE, dtype, offset, 0, 0, 0, rank, {first, second}, {}};
}

const fovea_parameter_info kEveryParameters[] = {
    every_table("position", FOVEA_F32, offsetof(EveryParams, position), 1, FOVEA_AXIS_POSITION),
    every_table("row", FOVEA_I32, offsetof(EveryParams, row), 1, FOVEA_AXIS_ROW),
    every_table("feature", FOVEA_F32, offsetof(EveryParams, feature), 1, FOVEA_AXIS_FEATURE),
    every_table("value_feature", FOVEA_F32, offsetof(EveryParams, value_feature), 1,
                FOVEA_AXIS_VALUE_FEATURE),
    every_table("allowed", FOVEA_U8, offsetof(EveryParams, allowed), 2, FOVEA_AXIS_ROW,
                FOVEA_AXIS_KEY),
};

const fovea_variant_info kVariants[] = {
    {"plain", 1, nullptr, 0, 0, 1, 0},
    {"full", 2, kFullParameters, 5, FOVEA_OUTPUT_LSE, 1, 0x1f},
    {"every", 3, kEveryParameters, 5,
     FOVEA_OUTPUT_LSE | FOVEA_OUTPUT_ROW_MAX | FOVEA_OUTPUT_ROW_SUM | FOVEA_OUTPUT_PROBABILITIES, 2,
     0},
};

const fovea_kernel_info kKernels[] = {
    {"fovea_prefill__plain__f32__d4__x86-sse41", kPlain, 0, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 4, kBlockRows, kScratchBytes, &fake_kernel<kPlainSse41, kPlain>, nullptr,
     0, 0},
    {"fovea_prefill__plain__f32__d4__x86-avx2", kPlain, 1, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 4, kBlockRows, kScratchBytes, &fake_kernel<kPlainAvx2, kPlain>, nullptr,
     0, 0},
    {"fovea_prefill__plain__f32__d4__x86-avx512", kPlain, 2, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 4, kBlockRows, kScratchBytes, &fake_kernel<kPlainAvx512, kPlain>, nullptr,
     0, 0},
    {"fovea_prefill__plain__f32__d4v2__x86-avx2", kPlain, 1, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 2, kBlockRows, kScratchBytes, &fake_kernel<kPlainNarrow, kPlain>, nullptr,
     0, 0},
    {"fovea_prefill__plain__f16__d4__x86-avx2", kPlain, 1, FOVEA_PREFILL, FOVEA_F16,
     FOVEA_CACHE_NONE, 4, 4, kBlockRows, kScratchBytes, &fake_kernel<kPlainF16, kPlain>, nullptr, 0,
     0},
    {"fovea_prefill__full__f32__d4__x86-sse41", kFull, 0, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 4, kBlockRows, kScratchBytes, &fake_kernel<kFullSse41, kFull>, nullptr, 0,
     0},
    {"fovea_prefill__every__f32__d4v2__x86-sse41", kEvery, 0, FOVEA_PREFILL, FOVEA_F32,
     FOVEA_CACHE_NONE, 4, 2, kBlockRows, kScratchBytes, &fake_kernel<kEverySse41, kEvery>, nullptr,
     0, 0},
};

const fovea_target_info* targets() {
  static const fovea_target_info rows[] = {
      {"x86-sse41", detail::cpu_architecture(), 0, 10},
      {"x86-avx2", detail::cpu_architecture(), 0, 20},
      {"x86-avx512", detail::cpu_architecture(), UINT64_C(1) << 62, 30},
  };
  return rows;
}

}  // namespace

void forget_seen() {
  const std::lock_guard<std::mutex> lock(mutex);
  records.clear();
  failing_code = 0;
}

std::vector<Seen> seen() {
  const std::lock_guard<std::mutex> lock(mutex);
  return records;
}

void fail_at(int32_t q_block, int32_t batch, int32_t head, int code) {
  const std::lock_guard<std::mutex> lock(mutex);
  failing_item[0] = q_block;
  failing_item[1] = batch;
  failing_item[2] = head;
  failing_code = code;
}

fovea_library_info fake_library() {
  return {FOVEA_ABI_VERSION, "fake", kVariants, static_cast<int32_t>(std::size(kVariants)),
          targets(),         3,      kKernels,  static_cast<int32_t>(std::size(kKernels))};
}

int pool_calls() { return pool_call_count; }
int pool_tasks() { return pool_task_count; }

Attention::Attention(Variant which, int64_t b, int64_t hq, int64_t hkv, int64_t sq, int64_t skv)
    : variant(which), library(fake_library()), d_v(which == kEvery ? 2 : 4) {
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  q.assign(count(b * hq * sq * 4), 1);
  k.assign(count(b * hkv * skv * 4), 2);
  v.assign(count(b * hkv * skv * d_v), 3);
  out.assign(count(b * hq * sq * d_v), 0);
  for (auto* rows : {&lse, &row_max, &row_sum}) rows->assign(count(b * hq * sq), -7);
  probabilities.assign(count(b * hq * sq * skv), -7);
  call = Call(tensor(q.data(), {b, hq, sq, 4}), tensor(k.data(), {b, hkv, skv, 4}),
              tensor(v.data(), {b, hkv, skv, d_v}), tensor(out.data(), {b, hq, sq, d_v}));
  if (which != kPlain) call.lse = fovea::lse_tensor(lse.data(), b, hq, sq);
  if (which == kEvery) {
    call.row_max = row_max_tensor(row_max.data(), b, hq, sq);
    call.row_sum = row_sum_tensor(row_sum.data(), b, hq, sq);
    call.probabilities = probabilities_tensor(probabilities.data(), b, hq, sq, skv);
  }
  q_len.assign(count(b), static_cast<int32_t>(sq));
  kv_len.assign(count(b), static_cast<int32_t>(skv));
  q_offset.assign(count(b), 0);
  const int64_t positions = sq > skv ? sq : skv;
  slope.assign(count(hq), 1);
  bias.assign(count(positions * skv), 1);
  extra.assign(count(2 * 3 * b * hkv), 1);
  params = {30, 4, table(slope.data(), hq), table(bias.data(), positions, skv),
            table(extra.data(), 2, 3, b, hkv)};
  position.assign(count(positions), 1);
  row.assign(count(sq), 1);
  feature.assign(4, 1);
  value_feature.assign(count(d_v), 1);
  allowed.assign(count(sq * skv), 1);
  every = {table(position.data(), positions), table(row.data(), sq), table(feature.data(), 4),
           table(value_feature.data(), d_v), table(allowed.data(), sq, skv)};
  params_pointer = which == kEvery ? static_cast<const void*>(&every) : &params;
  call.exec = &exec;
}

fovea_status Attention::run() {
  return fovea_variant_run(&library, variant, &call, params_pointer);
}
size_t Attention::workspace() { return fovea_variant_workspace(&library, variant, &call); }

fovea_status Attention::explain(std::string* text) {
  char buffer[4096];
  const fovea_status status =
      fovea_variant_explain(&library, variant, &call, buffer, sizeof(buffer));
  *text = buffer;
  return status;
}

}  // namespace fovea::test

// The pool of the library: a thread for every task.
extern "C" int fovea_halide_do_par_for(void* user_context, int (*task)(void*, int, uint8_t*),
                                       int min, int size, uint8_t* closure) {
  {
    const std::lock_guard<std::mutex> lock(fovea::test::mutex);
    ++fovea::test::pool_call_count;
    fovea::test::pool_task_count = size;
  }
  std::vector<std::thread> threads;
  std::vector<int> codes(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    threads.emplace_back(
        [=, &codes] { codes[static_cast<size_t>(i)] = task(user_context, min + i, closure); });
  }
  for (auto& thread : threads) thread.join();
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return 0;
}
