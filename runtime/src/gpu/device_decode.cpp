// SPDX-License-Identifier: Apache-2.0
#include "device_decode.h"

namespace fovea::detail {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The chunks of the keys of a sequence: all of them, but for those of which a ring has given up
// every key.
struct ChunksOfKeys {
  int64_t before_gap, gap, count;

  ChunksOfKeys(const Problem& problem, const fovea_kernel_info& kernel, int64_t keys) {
    const int64_t chunk = int64_t{kernel.decode->key_block} * kernel.decode->chunk_blocks;
    const Ring ring = ring_of(problem.cache, static_cast<int32_t>(keys));
    before_gap = ceil_div(ring.sinks, chunk);
    gap = ring.begin / chunk - before_gap;
    if (gap < 0) gap = 0;
    count = ceil_div(keys, chunk) - gap;
  }
};

// The most that a sequence of at most so many keys has.
int64_t most_chunks(const Problem& problem, const fovea_kernel_info& kernel, int64_t keys) {
  const int64_t chunk = int64_t{kernel.decode->key_block} * kernel.decode->chunk_blocks;
  const int64_t all = ceil_div(keys, chunk);
  if (!problem.has_ring()) return all;
  // A window may begin and end inside a chunk.
  const int64_t held =
      ceil_div(problem.cache.ring_sinks, chunk) + problem.cache.ring_window / chunk + 2;
  return held < all ? held : all;
}

// The records of one KV head: of each row of its tiles, for every chunk, so many numbers.
struct Records {
  int64_t numbers, tiles, chunks;

  Records(const Problem& problem, const fovea_kernel_info& kernel, int64_t rows,
          int64_t chunk_count)
      : numbers(int64_t{kernel.decode->record_lanes} * kernel.decode->record_slots *
                kernel.decode->record_groups),
        tiles(ceil_div(problem.q_heads / problem.kv_heads * rows, kernel.block_rows)),
        chunks(chunk_count) {}

  int64_t items() const { return tiles * chunks; }
  // Of a KV head, or of all KV heads of a sequence: kernels step over them in 32 bits. False if
  // they do not fit.
  bool floats(const fovea_kernel_info& kernel, int64_t heads, int64_t* count) const {
    return !__builtin_mul_overflow(tiles, chunks, count) &&
           !__builtin_mul_overflow(*count, kernel.block_rows * numbers, count) &&
           !__builtin_mul_overflow(*count, heads, count) && *count <= INT32_MAX;
  }
};

// (number, row of the tile, item, KV head, sequence of the run)
void fill_records(Buffer<5>* b, const Placed& placed, const Records& records,
                  const fovea_kernel_info& kernel, int64_t heads, int64_t all_heads,
                  int64_t sequences) {
  const auto numbers = static_cast<int32_t>(records.numbers);
  const int32_t of_item = numbers * kernel.block_rows;
  const auto items = static_cast<int32_t>(records.items());
  b->dimensions[0] = {0, numbers, 1, 0};
  b->dimensions[1] = {0, kernel.block_rows, numbers, 0};
  b->dimensions[2] = {0, items, of_item, 0};
  b->dimensions[3] = {0, static_cast<int32_t>(heads), of_item * items, 0};
  b->dimensions[4] = {0, static_cast<int32_t>(sequences),
                      of_item * items * static_cast<int32_t>(all_heads), 0};
  describe_buffer(b, placed, device_type(FOVEA_F32));
}

// Chunks of some KV heads.
int launch_part(const DeviceWork& work, const Run& run, const Records& records,
                const ChunksOfKeys& of_keys, int64_t first_head, int64_t heads) {
  const Problem& problem = *work.problem;
  RunInputs in(work, run.first);
  RunCache cache(work, keys_of(problem, run.first));
  RunScalars s(problem, run.first);
  Buffer<5> out;
  fill_records(&out, work.records, records, *work.decode, heads, problem.kv_heads, run.count);
  int64_t records_start = work.records.start + first_head * out.dimensions[3].stride;
  int32_t wide_reads = in.wide_reads(problem);
  int32_t item = 0;
  auto kv_head = static_cast<int32_t>(first_head);
  auto chunks = static_cast<int32_t>(records.chunks);
  auto before_gap = static_cast<int32_t>(of_keys.before_gap);
  auto gap = static_cast<int32_t>(of_keys.gap);
  void* context = work.call;
  void* list[kMostArguments] = {
      &context,    &in.q.buffer, &in.k.buffer, &in.v.buffer,    &in.q_start, &in.k_start,
      &in.v_start, &item,        &kv_head,     &s.heads_per_kv, &chunks,     &s.batch,
      &s.sequence, &s.q_offset,  &s.q_len,     &s.kv_len,       &s.scale,    &wide_reads};
  int count = 18;
  if (problem.has_cache()) {
    list[count++] = &before_gap;
    list[count++] = &gap;
  }
  count = cache.add(problem, list, count);
  count = add_parameters(work, list, count);
  list[count++] = &records_start;
  list[count++] = &out.buffer;
  return work.decode->decode->parts[0].run(list);
}

// Rows of some query heads.
int launch_finish(const DeviceWork& work, const Run& run, const Records& records,
                  int64_t first_head, int64_t heads) {
  const Problem& problem = *work.problem;
  RunScalars s(problem, run.first);
  Buffer<5> in;
  fill_records(&in, work.records, records, *work.decode, problem.kv_heads, problem.kv_heads,
               run.count);
  RunOutputs outputs(work, run, first_head, heads);
  int64_t records_start = work.records.start;
  int32_t row = 0;
  int32_t sequence = 0;  // of the run
  auto head = static_cast<int32_t>(first_head);
  auto chunks = static_cast<int32_t>(records.chunks);
  void* context = work.call;
  void* list[kMostArguments] = {&context,  &in.buffer,      &records_start, &row,
                                &head,     &s.heads_per_kv, &chunks,        &s.batch,
                                &sequence, &s.q_offset,     &s.q_len,       &s.kv_len};
  int count = add_parameters(work, list, 12);
  count = outputs.add_starts(list, count);
  outputs.add_buffers(list, count);
  return work.decode->decode->finish(list);
}

}  // namespace

fovea_status plan_device_decode(const Problem& problem, const fovea_kernel_info& kernel,
                                size_t* bytes) {
  *bytes = 0;
  const auto raise = [&](int64_t rows, int64_t keys, int64_t sequences) {
    const Records records(problem, kernel, rows, most_chunks(problem, kernel, keys));
    int64_t needed = 0;
    if (!records.floats(kernel, problem.kv_heads, &needed) ||
        __builtin_mul_overflow(needed, sequences * int64_t{sizeof(float)}, &needed))
      return fail(
          FOVEA_OUT_OF_MEMORY,
          "kernel %s needs records of %lld tiles of %d rows, %lld chunks and %lld KV heads, "
          "which do not fit; exec.pass = \"prefill\" needs none",
          kernel.name, static_cast<long long>(records.tiles), kernel.block_rows,
          static_cast<long long>(records.chunks), static_cast<long long>(problem.kv_heads));
    if (static_cast<size_t>(needed) > *bytes) *bytes = static_cast<size_t>(needed);
    return FOVEA_OK;
  };
  if (!problem.is_ragged()) return raise(problem.q_rows, problem.kv_rows, problem.batch);
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0; b < problem.batch && status == FOVEA_OK; ++b) {
    const int32_t rows = rows_of(problem, b);
    if (rows > 0 && pass_of(problem, b) == FOVEA_DECODE)
      status = raise(rows, keys_of(problem, b), 1);
  }
  return status;
}

fovea_status launch_decode(DeviceWork* work, const Run& run) {
  const Problem& problem = *work->problem;
  const DeviceDriver& driver = *work->call->driver;
  const ChunksOfKeys of_keys(problem, *work->decode, keys_of(problem, run.first));
  const Records records(problem, *work->decode, rows_of(problem, run.first), of_keys.count);
  // The records of the run before have been read.
  fovea_status status = driver.order(work->call);
  for (int64_t h = 0; status == FOVEA_OK && records.chunks > 0 && h < problem.kv_heads;
       h += kMostBlocks) {
    const int64_t left = problem.kv_heads - h;
    const int code =
        launch_part(*work, run, records, of_keys, h, left < kMostBlocks ? left : kMostBlocks);
    status = status_of(*work, *work->decode, code);
  }
  if (status == FOVEA_OK) status = driver.order(work->call);
  for (int64_t h = 0; status == FOVEA_OK && h < problem.q_heads; h += kMostBlocks) {
    const int64_t left = problem.q_heads - h;
    const int code = launch_finish(*work, run, records, h, left < kMostBlocks ? left : kMostBlocks);
    status = status_of(*work, *work->decode, code);
  }
  return status;
}

}  // namespace fovea::detail
