// SPDX-License-Identifier: Apache-2.0
#include "work_item.h"

#include "arguments.h"

namespace fovea::detail {

int run_item(const Problem& problem, const fovea_kernel_info& kernel, const Parameters& parameters,
             const WorkItem& item, fovea_scratch* scratch, UnwantedRows unwanted) {
  const fovea_call& call = problem.call;
  const int64_t first_row = item.block * kernel.block_rows;
  auto q_block = static_cast<int32_t>(item.block);
  int32_t q_len = rows_of(problem, item.b);
  int32_t kv_len = keys_of(problem, item.b);
  int32_t q_offset = offset_of(problem, item.b);
  auto batch = static_cast<int32_t>(item.b);
  auto head = static_cast<int32_t>(item.head);
  auto kv_head = static_cast<int32_t>(item.head / (problem.q_heads / problem.kv_heads));
  float scale = problem.scale;
  const int64_t left = q_len - first_row;
  const int32_t rows = left < kernel.block_rows ? static_cast<int32_t>(left) : kernel.block_rows;

  // Not cleared: what an item uses of them is filled, and short calls are about nothing else.
  RowBuffer q, k, v, out;
  ExtraBuffers extra;
  CacheArguments cache;
  HalideBuffer* keys = &k.buffer;
  HalideBuffer* values = &v.buffer;
  const Place place = place_of_rows(problem, item.b);
  fill_rows(&q, call.q, place, head, first_row, rows);
  fill_rows(&out, call.out, place, head, first_row, rows);
  if (problem.has_cache()) {
    fill_cache(problem, item.b, kv_head, &cache);
    keys = &cache.k.buffer;
    values = &cache.v.buffer;
  } else {
    const Place key_place = place_of_keys(problem, item.b);
    fill_rows(&k, call.k, key_place, kv_head, 0, kv_len);
    fill_rows(&v, call.v, key_place, kv_head, 0, kv_len);
  }

  void* user_context = scratch;
  Arguments arguments;
  arguments.add(&user_context, &q.buffer, keys, values, &q_block, &q_offset, &q_len, &kv_len,
                &batch, &head, &kv_head, &scale);
  if (problem.has_cache()) arguments.add_cache(problem, &cache);
  arguments.add_parameters(problem, parameters);
  arguments.add(&out.buffer);
  arguments.add_extra_outputs(problem, item.b, item.head, first_row, rows, kv_len, unwanted, extra);
  return kernel.run(arguments.list());
}

}  // namespace fovea::detail
