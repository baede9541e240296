// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include "arguments.h"
#include "workers.h"

namespace fovea::detail {
namespace {

// One KV head of one sequence.
struct GroupState {
  int32_t first_block, end_block;  // that some row sees
  int32_t left;                    // chunks without a record; changed by __atomic functions alone
};

struct Sizes {
  int64_t heads;       // query heads that share a KV head
  int64_t tile_rows;   // rows of a group, rounded up to whole tiles
  int64_t chunks;      // most that a group can have
  int64_t row_floats;  // of one record
  int64_t groups;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of a ring by its slots: however long its sequences are, the chunks between the sinks and the
// oldest key that is still there are neither run nor recorded.
int64_t most_chunks(const Problem& problem, const fovea_decode_info& info) {
  const int64_t chunk_keys = int64_t{info.key_block} * info.chunk_blocks;
  if (!problem.has_ring()) return ceil_div(problem.kv_rows, chunk_keys);
  const fovea_cache& cache = problem.cache;
  return ceil_div(cache.ring_sinks, chunk_keys) + ceil_div(cache.ring_window - 1, chunk_keys) + 1;
}

Sizes sizes_of(const Problem& problem, const fovea_kernel_info& kernel) {
  const fovea_decode_info& info = *kernel.decode;
  Sizes s;
  s.heads = problem.kv_heads > 0 ? problem.q_heads / problem.kv_heads : 0;
  s.tile_rows = ceil_div(s.heads * problem.q_rows, kernel.block_rows) * kernel.block_rows;
  s.chunks = most_chunks(problem, info);
  s.row_floats = static_cast<int64_t>(info.record_lanes) * info.record_slots * info.record_groups;
  s.groups = problem.batch * problem.kv_heads;
  return s;
}

struct DecodeWork : Work {
  Parameters parameters;
  Sizes sizes;
  GroupState* groups;
  float* records;  // [groups][chunks][tile_rows][row_floats]
};

// The chunks of a group by number: chunk n begins at key block n * chunk_blocks, so that a row's
// result does not depend on what other rows see. Those of the hole are left out: a ring has given
// up all their keys.
struct Chunks {
  int32_t first, end, hole_begin, hole_end;

  int32_t count() const { return end - first - (hole_end - hole_begin); }
  int32_t at(int32_t index) const {
    const int32_t chunk = first + index;
    return chunk < hole_begin ? chunk : chunk + hole_end - hole_begin;
  }
};

int32_t clamp(int64_t value, int32_t low, int32_t high) {
  return static_cast<int32_t>(value < low ? low : value > high ? high : value);
}

Chunks chunks_of(const Problem& problem, int64_t b, const GroupState& group,
                 const fovea_decode_info& info) {
  if (group.first_block >= group.end_block) return {0, 0, 0, 0};
  const int32_t first = group.first_block / info.chunk_blocks;
  const auto end = static_cast<int32_t>(ceil_div(group.end_block, info.chunk_blocks));
  if (!problem.has_ring()) return {first, end, end, end};
  const Ring ring = ring_of(problem.cache, keys_of(problem, b));
  const int64_t chunk_keys = int64_t{info.key_block} * info.chunk_blocks;
  const int32_t hole_begin = clamp(ceil_div(ring.sinks, chunk_keys), first, end);
  return {first, end, hole_begin, clamp(ring.begin / chunk_keys, hole_begin, end)};
}

// A group without a chunk still has rows to write.
int32_t items_of(const Chunks& chunks, int32_t rows) {
  const int32_t count = chunks.count();
  return rows == 0 ? 0 : count > 0 ? count : 1;
}

struct Blocks {
  int32_t begin, end;
};

// The key blocks of a chunk that some row sees and, unless that leaves none, of whose keys a ring
// has not given up all.
Blocks blocks_of(const Problem& problem, int64_t b, const GroupState& group, int32_t chunk,
                 const fovea_decode_info& info) {
  Blocks blocks = {chunk * info.chunk_blocks, (chunk + 1) * info.chunk_blocks};
  if (blocks.begin < group.first_block) blocks.begin = group.first_block;
  if (blocks.end > group.end_block) blocks.end = group.end_block;
  if (!problem.has_ring()) return blocks;
  const Ring ring = ring_of(problem.cache, keys_of(problem, b));
  Blocks left = blocks;
  if (int64_t{blocks.begin} * info.key_block >= ring.sinks)
    left.begin = clamp(ring.begin / info.key_block, blocks.begin, blocks.end);
  if (int64_t{blocks.end} * info.key_block <= ring.begin)
    left.end = clamp(ceil_div(ring.sinks, info.key_block), blocks.begin, blocks.end);
  return left.begin < left.end ? left : blocks;
}

// What kernels of one group are told, whatever they do.
struct GroupScalars {
  int32_t heads, q_offset, q_len, kv_len, batch, kv_head;
  float scale;

  GroupScalars(const Problem& problem, int64_t b, int64_t kv_head_index, int64_t heads_of_group)
      : heads(static_cast<int32_t>(heads_of_group)),
        q_offset(offset_of(problem, b)),
        q_len(rows_of(problem, b)),
        kv_len(keys_of(problem, b)),
        batch(static_cast<int32_t>(b)),
        kv_head(static_cast<int32_t>(kv_head_index)),
        scale(problem.scale) {}
};

template <int rank>
void fill_records(Buffer<rank>* buffer, const fovea_decode_info& info, float* host, int32_t count,
                  int32_t stride) {
  static_assert(rank == 4);
  buffer->dimensions[0] = {0, info.record_lanes, 1, 0};
  buffer->dimensions[1] = {0, info.record_slots, info.record_lanes, 0};
  buffer->dimensions[2] = {0, info.record_groups, info.record_lanes * info.record_slots, 0};
  buffer->dimensions[3] = {0, count, stride, 0};
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
               const Parameters& parameters, int64_t heads, int64_t b, int64_t kv_head,
               fovea_scratch* scratch, GroupState* group) {
  GroupScalars s(problem, b, kv_head, heads);
  group->first_block = group->end_block = 0;
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
  group->first_block = range[0];
  group->end_block = range[1];
  return code;
}

// The narrowest tile that holds all rows of the group, else the widest for each of its tiles: rows
// that are in one place of a tile in two calls are computed by the same code.
const fovea_decode_part& part_for(const fovea_decode_info& info, int32_t rows) {
  int32_t best = 0;
  while (best + 1 < info.part_count && info.parts[best].rows < rows) ++best;
  return info.parts[best];
}

int run_parts(const DecodeWork& work, int64_t b, int64_t kv_head, Blocks blocks, float* records,
              fovea_scratch* scratch) {
  const Problem& problem = *work.problem;
  const fovea_call& call = problem.call;
  const fovea_decode_info& info = *work.kernel->decode;
  GroupScalars s(problem, b, kv_head, work.sizes.heads);
  Buffer<3> q;
  RowBuffer k, v;
  CacheArguments cache;
  HalideBuffer* keys = &k.buffer;
  HalideBuffer* values = &v.buffer;
  fill_group(&q, call.q, place_of_rows(problem, b), kv_head * work.sizes.heads, s.heads, s.q_len);
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
    Buffer<4> out;
    const auto row_floats = static_cast<int32_t>(work.sizes.row_floats);
    fill_records(&out, info, records + first_row * work.sizes.row_floats, part.rows, row_floats);
    void* user_context = scratch;
    Arguments arguments;
    arguments.add(&user_context, &q.buffer, keys, values, &s.heads, &first_row, &blocks.begin,
                  &blocks.end, &s.q_offset, &s.q_len, &s.kv_len, &s.batch, &s.kv_head, &s.scale);
    if (problem.has_cache()) arguments.add_cache(problem, &cache);
    arguments.add_parameters(problem, work.parameters);
    arguments.add(&out.buffer);
    const int code = part.run(arguments.list());
    if (code != 0) return code;
  }
  return 0;
}

int finish_row(const DecodeWork& work, const GroupScalars& group, int64_t head_of_group,
               int32_t row_of_sequence, float* records, int32_t chunks, fovea_scratch* scratch,
               UnwantedRows unwanted) {
  const Problem& problem = *work.problem;
  const fovea_decode_info& info = *work.kernel->decode;
  GroupScalars s = group;
  int32_t head = s.kv_head * s.heads + static_cast<int32_t>(head_of_group);
  int32_t row = row_of_sequence;
  const int64_t row_in_group = row * work.sizes.heads + head_of_group;
  const int64_t chunk_floats = work.sizes.tile_rows * work.sizes.row_floats;
  Buffer<4> in;
  fill_records(&in, info, records + row_in_group * work.sizes.row_floats, chunks,
               static_cast<int32_t>(chunk_floats));
  RowBuffer out;
  ExtraBuffers extra;
  fill_rows(&out, problem.call.out, place_of_rows(problem, s.batch), head, row, 1);
  void* user_context = scratch;
  Arguments arguments;
  arguments.add(&user_context, &in.buffer, &head, &row, &s.q_offset, &s.q_len, &s.kv_len, &s.batch,
                &s.kv_head);
  arguments.add_parameters(problem, work.parameters);
  arguments.add(&out.buffer);
  arguments.add_extra_outputs(problem, s.batch, head, row, 1, -1, unwanted, extra);
  return info.finish(arguments.list());
}

int finish_group(const DecodeWork& work, int64_t b, int64_t kv_head, int32_t chunks, float* records,
                 fovea_scratch* scratch, unsigned char* slice) {
  const GroupScalars s(*work.problem, b, kv_head, work.sizes.heads);
  for (int32_t row = 0; row < s.q_len; ++row) {
    for (int32_t head = 0; head < s.heads; ++head) {
      const int code = finish_row(work, s, head, row, records, chunks, scratch,
                                  {slice, work.plan->unwanted_step});
      if (code != 0) return code;
    }
  }
  return 0;
}

void run_worker(Work* base, unsigned char* slice) {
  auto* work = static_cast<DecodeWork*>(base);
  const fovea_decode_info& info = *work->kernel->decode;
  const int64_t kv_heads = work->problem->kv_heads;
  const int64_t group_floats = work->sizes.chunks * work->sizes.tile_rows * work->sizes.row_floats;
  int64_t index = 0;  // of the group at the cursor
  int64_t first = 0;  // its first item
  for (int64_t item; (item = take_item(work)) >= 0;) {
    Chunks chunks;
    for (;; ++index) {
      const int64_t sequence = index / kv_heads;
      chunks = chunks_of(*work->problem, sequence, work->groups[index], info);
      const int32_t items = items_of(chunks, rows_of(*work->problem, sequence));
      if (item - first < items) break;
      first += items;
    }
    GroupState& group = work->groups[index];
    const int64_t b = index / kv_heads;
    const int64_t kv_head = index % kv_heads;
    const auto chunk = static_cast<int32_t>(item - first);
    float* records = work->records + index * group_floats;
    fovea_scratch scratch = scratch_of(*work, slice);
    int code = 0;
    if (chunks.count() > 0) {
      code =
          run_parts(*work, b, kv_head, blocks_of(*work->problem, b, group, chunks.at(chunk), info),
                    records + chunk * work->sizes.tile_rows * work->sizes.row_floats, &scratch);
    }
    // Whoever makes the last record of a group finishes its rows.
    if (code == 0 && __atomic_fetch_sub(&group.left, 1, __ATOMIC_ACQ_REL) == 1) {
      scratch = scratch_of(*work, slice);
      code = finish_group(*work, b, kv_head, chunks.count(), records, &scratch, slice);
    }
    if (code != 0) report_error(work, code);
  }
}

// Ranges of all groups, and the number of items.
int find_ranges(DecodeWork* work, unsigned char* slice) {
  const Problem& problem = *work->problem;
  const fovea_decode_info& info = *work->kernel->decode;
  work->items = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t kv_head = 0; kv_head < problem.kv_heads; ++kv_head) {
      GroupState* group = &work->groups[b * problem.kv_heads + kv_head];
      if (kv_head == 0 || info.range_of_head != 0) {
        fovea_scratch scratch = scratch_of(*work, slice);
        const int code = find_range(problem, *work->kernel, work->parameters, work->sizes.heads, b,
                                    kv_head, &scratch, group);
        if (code != 0) return code;
      } else {
        group->first_block = (group - 1)->first_block;
        group->end_block = (group - 1)->end_block;
      }
      const int32_t items = items_of(chunks_of(problem, b, *group, info), rows_of(problem, b));
      group->left = items;  // no worker has begun
      work->items += items;
    }
  }
  return 0;
}

}  // namespace

fovea_status plan_decode(const Problem& problem, const fovea_kernel_info& kernel,
                         int32_t default_threads, WorkspacePlan* plan) {
  const Sizes s = sizes_of(problem, kernel);
  // The finish of a row steps from chunk to chunk in 32 bits.
  int64_t chunk_floats = 0;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(s.tile_rows, s.row_floats, &chunk_floats) ||
      chunk_floats > INT32_MAX || __builtin_mul_overflow(chunk_floats, s.chunks, &bytes) ||
      __builtin_mul_overflow(bytes, s.groups, &bytes) ||
      __builtin_mul_overflow(bytes, int64_t{sizeof(float)}, &bytes) || bytes > INT64_MAX / 2) {
    return fail(FOVEA_OUT_OF_MEMORY,
                "kernel %s needs records of %lld rows, %lld chunks and %lld KV heads, which do not "
                "fit; exec.pass = \"prefill\" needs none",
                kernel.name, static_cast<long long>(s.tile_rows), static_cast<long long>(s.chunks),
                static_cast<long long>(s.groups));
  }
  const size_t shared = round_up_to_slice(static_cast<size_t>(s.groups) * sizeof(GroupState)) +
                        round_up_to_slice(static_cast<size_t>(bytes));
  const int64_t items = s.groups * (s.chunks > 0 ? s.chunks : 1);
  const SliceNeeds needs = needs_of(kernel, sizeof(float), unwanted_rows_of(problem));
  return plan_slices(problem.exec, needs, items, shared, default_threads, plan);
}

fovea_status run_decode(const Problem& problem, const void* params, const fovea_kernel_info& kernel,
                        const WorkspacePlan& plan) {
  Workspace workspace;
  fovea_status status = acquire_workspace(problem, plan, &workspace);
  if (status != FOVEA_OK) return status;
  DecodeWork work;
  start_work(&work, problem, kernel, plan, workspace);
  work.run_worker = run_worker;
  work.sizes = sizes_of(problem, kernel);
  work.groups = reinterpret_cast<GroupState*>(workspace.base);
  work.records = reinterpret_cast<float*>(
      workspace.base +
      round_up_to_slice(static_cast<size_t>(work.sizes.groups) * sizeof(GroupState)));
  fill_parameters(problem, params, &work.parameters);
  const int code = find_ranges(&work, work.slices);
  if (code != 0) {
    status = fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", kernel.name, code);
  } else if (work.items > 0) {
    status = run_workers(&work);
  }
  release_workspace(problem, workspace);
  return status;
}

}  // namespace fovea::detail
