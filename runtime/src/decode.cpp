// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include "arguments.h"

namespace fovea::detail {
namespace {

// Query heads that share a KV head.
int64_t heads_of_group(const Problem& problem) {
  return problem.kv_heads > 0 ? problem.q_heads / problem.kv_heads : 0;
}

// Of one record.
int64_t row_floats_of(const fovea_decode_info& info) {
  return static_cast<int64_t>(info.record_lanes) * info.record_slots * info.record_groups;
}

// The rows of a KV head, rounded up to whole tiles.
int64_t tile_rows_of(const Problem& problem, const fovea_kernel_info& kernel, int64_t rows) {
  const int64_t all = heads_of_group(problem) * rows;
  return (all + kernel.block_rows - 1) / kernel.block_rows * kernel.block_rows;
}

// A KV head without a chunk still has rows to write.
int32_t items_of(const Chunks& chunks, int32_t rows) {
  const int32_t count = chunks.count();
  return rows == 0 ? 0 : count > 0 ? count : 1;
}

// What kernels of one group are told, whatever they do.
struct GroupScalars {
  int32_t heads, q_offset, q_len, kv_len, batch, kv_head;
  float scale;

  GroupScalars(const Problem& problem, int64_t b, int64_t kv_head_index)
      : heads(static_cast<int32_t>(heads_of_group(problem))),
        q_offset(offset_of(problem, b)),
        q_len(rows_of(problem, b)),
        kv_len(keys_of(problem, b)),
        batch(static_cast<int32_t>(b)),
        kv_head(static_cast<int32_t>(kv_head_index)),
        scale(problem.scale) {}
};

void fill_records(TableBuffer* buffer, const fovea_decode_info& info, float* host, int32_t count,
                  int64_t stride) {
  buffer->dimensions[0] = {0, info.record_lanes, 1, 0};
  buffer->dimensions[1] = {0, info.record_slots, info.record_lanes, 0};
  buffer->dimensions[2] = {0, info.record_groups, info.record_lanes * info.record_slots, 0};
  buffer->dimensions[3] = {0, count, static_cast<int32_t>(stride), 0};
  buffer->buffer = {0,
                    nullptr,
                    reinterpret_cast<uint8_t*>(host),
                    0,
                    halide_type(FOVEA_F32),
                    4,
                    buffer->dimensions,
                    nullptr};
}

int find_range(const Problem& problem, const fovea_kernel_info& kernel,
               const Parameters& parameters, int64_t b, int64_t kv_head, fovea_scratch* scratch,
               Blocks* blocks) {
  GroupScalars s(problem, b, kv_head);
  *blocks = {0, 0};
  if (s.q_len == 0 || s.kv_len == 0) return 0;
  int32_t range[2] = {0, 0};
  Buffer<1> out;
  out.dimensions[0] = {0, 2, 1, 0};
  out.buffer = {0,
                nullptr,
                reinterpret_cast<uint8_t*>(range),
                0,
                halide_type(FOVEA_I32),
                1,
                out.dimensions,
                nullptr};
  void* user_context = scratch;
  Arguments arguments;
  arguments.add(&user_context, &s.heads, &s.q_offset, &s.q_len, &s.kv_len, &s.batch, &s.kv_head);
  arguments.add_parameters(problem, parameters);
  arguments.add(&out.buffer);
  const int code = kernel.decode->range(arguments.list());
  *blocks = {range[0], range[1]};
  return code;
}

// The narrowest tile that holds all rows of the group, else the widest for each of its tiles: rows
// that are in one place of a tile in two calls are computed by the same code.
const fovea_decode_part& part_for(const fovea_decode_info& info, int32_t rows) {
  int32_t best = 0;
  while (best + 1 < info.part_count && info.parts[best].rows < rows) ++best;
  return info.parts[best];
}

int run_parts(const DecodeItems& items, int64_t b, int64_t kv_head, Blocks blocks, float* records,
              fovea_scratch* scratch) {
  const Problem& problem = *items.problem;
  const fovea_call& call = problem.call;
  const fovea_decode_info& info = *items.kernel->decode;
  GroupScalars s(problem, b, kv_head);
  const int64_t row_floats = row_floats_of(info);
  Buffer<3> q;
  RowBuffer k, v;
  CacheArguments cache;
  HalideBuffer* keys = &k.buffer;
  HalideBuffer* values = &v.buffer;
  fill_group(&q, call.q, place_of_rows(problem, b), kv_head * s.heads, s.heads, s.q_len);
  if (problem.has_cache()) {
    fill_cache(problem, b, kv_head, &cache);
    keys = &cache.k.buffer;
    values = &cache.v.buffer;
  } else {
    const Place place = place_of_keys(problem, b);
    fill_rows(&k, call.k, place, kv_head, 0, s.kv_len);
    fill_rows(&v, call.v, place, kv_head, 0, s.kv_len);
  }
  const int32_t rows = s.heads * s.q_len;
  const fovea_decode_part& part = part_for(info, rows);
  for (int32_t first_row = 0; first_row < rows; first_row += part.rows) {
    TableBuffer out;
    fill_records(&out, info, records + first_row * row_floats, part.rows, row_floats);
    void* user_context = scratch;
    Arguments arguments;
    arguments.add(&user_context, &q.buffer, keys, values, &s.heads, &first_row, &blocks.begin,
                  &blocks.end, &s.q_offset, &s.q_len, &s.kv_len, &s.batch, &s.kv_head, &s.scale);
    if (problem.has_cache()) arguments.add_cache(problem, &cache);
    arguments.add_parameters(problem, *items.parameters);
    arguments.add(&out.buffer);
    const int code = part.run(arguments.list());
    if (code != 0) return code;
  }
  return 0;
}

int finish_row(const DecodeItems& items, const GroupScalars& group, int32_t head_of_group,
               int32_t row_of_sequence, float* records, int32_t chunks, int64_t chunk_floats,
               fovea_scratch* scratch, UnwantedRows unwanted) {
  const Problem& problem = *items.problem;
  const fovea_decode_info& info = *items.kernel->decode;
  GroupScalars s = group;
  int32_t head = s.kv_head * s.heads + head_of_group;
  int32_t row = row_of_sequence;
  const int64_t row_in_group = int64_t{row} * s.heads + head_of_group;
  TableBuffer in;
  fill_records(&in, info, records + row_in_group * row_floats_of(info), chunks, chunk_floats);
  RowBuffer out;
  ExtraBuffers extra;
  fill_rows(&out, problem.call.out, place_of_rows(problem, s.batch), head, row, 1);
  void* user_context = scratch;
  Arguments arguments;
  arguments.add(&user_context, &in.buffer, &head, &row, &s.q_offset, &s.q_len, &s.kv_len, &s.batch,
                &s.kv_head);
  arguments.add_parameters(problem, *items.parameters);
  arguments.add(&out.buffer);
  arguments.add_extra_outputs(problem, s.batch, head, row, 1, -1, unwanted, extra);
  return info.finish(arguments.list());
}

int finish_group(const DecodeItems& items, int64_t b, int64_t kv_head, float* records,
                 int32_t chunks, int64_t chunk_floats, const WorkerSlice& slice) {
  const GroupScalars s(*items.problem, b, kv_head);
  fovea_scratch scratch = slice.scratch();
  for (int32_t row = 0; row < s.q_len; ++row) {
    for (int32_t head = 0; head < s.heads; ++head) {
      const int code = finish_row(items, s, head, row, records, chunks, chunk_floats, &scratch,
                                  slice.unwanted());
      if (code != 0) return code;
    }
  }
  return 0;
}

// Adds the bytes of so many KV heads' records; false if they do not fit.
bool add_record_bytes(const Problem& problem, const fovea_kernel_info& kernel, int64_t rows,
                      int64_t keys, int64_t groups, int64_t* total) {
  const fovea_decode_info& info = *kernel.decode;
  // The finish of a row steps from chunk to chunk in 32 bits.
  int64_t bytes = 0;
  return !__builtin_mul_overflow(tile_rows_of(problem, kernel, rows), row_floats_of(info),
                                 &bytes) &&
         bytes <= INT32_MAX &&
         !__builtin_mul_overflow(bytes, most_chunks(problem, keys, info), &bytes) &&
         !__builtin_mul_overflow(bytes, groups, &bytes) &&
         !__builtin_mul_overflow(bytes, int64_t{sizeof(float)}, &bytes) &&
         !__builtin_add_overflow(*total, bytes, total) && *total <= INT64_MAX / 2;
}

fovea_status fail_to_fit(const Problem& problem, const fovea_kernel_info& kernel, int64_t rows,
                         int64_t keys, int64_t groups) {
  return fail(FOVEA_OUT_OF_MEMORY,
              "kernel %s needs records of %lld rows, %lld chunks and %lld KV heads, which do not "
              "fit; exec.pass = \"prefill\" needs none",
              kernel.name, static_cast<long long>(tile_rows_of(problem, kernel, rows)),
              static_cast<long long>(most_chunks(problem, keys, *kernel.decode)),
              static_cast<long long>(groups));
}

}  // namespace

fovea_status plan_decode(const Problem& problem, const fovea_kernel_info& kernel,
                         DecodeMemory* memory) {
  const int64_t kv_heads = problem.kv_heads;
  int64_t bytes = 0;
  int64_t groups = 0;
  memory->items = 0;
  const auto add = [&](int64_t rows, int64_t keys, int64_t count) {
    const int64_t chunks = most_chunks(problem, keys, *kernel.decode);
    groups += count;
    memory->items += count * (chunks > 0 ? chunks : 1);
    return add_record_bytes(problem, kernel, rows, keys, count, &bytes)
               ? FOVEA_OK
               : fail_to_fit(problem, kernel, rows, keys, count);
  };
  fovea_status status = FOVEA_OK;
  if (!problem.is_ragged()) {
    // By shapes, whatever the lengths are.
    status = add(problem.q_rows, problem.kv_rows, problem.batch * kv_heads);
  } else {
    for (int64_t b = 0; b < problem.batch && status == FOVEA_OK; ++b) {
      const int32_t rows = rows_of(problem, b);
      if (rows > 0 && pass_of(problem, b) == FOVEA_DECODE)
        status = add(rows, keys_of(problem, b), kv_heads);
    }
  }
  memory->group_bytes = round_up_to_slice(static_cast<size_t>(groups) * sizeof(GroupState));
  memory->record_bytes = round_up_to_slice(static_cast<size_t>(bytes));
  return status;
}

int decode_items(const Problem& problem, const fovea_kernel_info& kernel,
                 const Parameters& parameters, Sequences sequences, unsigned char* groups,
                 unsigned char* records, const WorkerSlice& slice, DecodeItems* items) {
  *items = {&problem,
            &kernel,
            &parameters,
            sequences,
            reinterpret_cast<GroupState*>(groups),
            reinterpret_cast<float*>(records),
            0};
  const fovea_decode_info& info = *kernel.decode;
  GroupState* group = items->groups;
  for (int64_t i = 0; i < sequences.count; ++i) {
    const int64_t b = sequences.at(i);
    for (int64_t kv_head = 0; kv_head < problem.kv_heads; ++kv_head, ++group) {
      if (kv_head == 0 || info.range_of_head != 0) {
        fovea_scratch scratch = slice.scratch();
        const int code =
            find_range(problem, kernel, parameters, b, kv_head, &scratch, &group->range);
        if (code != 0) return code;
      } else {
        group->range = (group - 1)->range;
      }
      // No worker has begun.
      group->left = items_of(chunks_of(problem, b, group->range, info), rows_of(problem, b));
      items->count += group->left;
    }
  }
  return 0;
}

void DecodeCursor::look() {
  const Problem& problem = *items_.problem;
  const fovea_kernel_info& kernel = *items_.kernel;
  kv_head_ = index_ % problem.kv_heads;
  if (kv_head_ == 0) {
    b_ = items_.sequences.at(index_ / problem.kv_heads);
    rows_ = rows_of(problem, b_);
    chunk_floats_ = tile_rows_of(problem, kernel, rows_) * row_floats_of(*kernel.decode);
  }
  chunks_ = chunks_of(problem, b_, items_.groups[index_].range, *kernel.decode);
}

int DecodeCursor::run(int64_t item, const WorkerSlice& slice) {
  if (!is_begun_) look();
  is_begun_ = true;
  for (;;) {
    const int32_t count = items_of(chunks_, rows_);
    if (item - first_ < count) break;
    first_ += count;
    records_ += chunks_.count() * chunk_floats_;
    ++index_;
    look();
  }
  GroupState& group = items_.groups[index_];
  const auto chunk = static_cast<int32_t>(item - first_);
  float* records = items_.records + records_;
  int code = 0;
  if (chunks_.count() > 0) {
    const Blocks blocks =
        blocks_of(*items_.problem, b_, group.range, chunks_.at(chunk), *items_.kernel->decode);
    fovea_scratch scratch = slice.scratch();
    code = run_parts(items_, b_, kv_head_, blocks, records + chunk * chunk_floats_, &scratch);
  }
  // Whoever makes the last record of a group finishes its rows.
  if (code != 0 || __atomic_fetch_sub(&group.left, 1, __ATOMIC_ACQ_REL) != 1) return code;
  return finish_group(items_, b_, kv_head_, records, chunks_.count(), chunk_floats_, slice);
}

}  // namespace fovea::detail
