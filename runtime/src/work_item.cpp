// SPDX-License-Identifier: Apache-2.0
#include "work_item.h"

#include <initializer_list>

namespace fovea::detail {
namespace {

// 12 fixed arguments, parameters, out, extra outputs; see fovea_kernel_info.
constexpr int kFixedArguments = 12;
constexpr int kMaxArguments = kFixedArguments + FOVEA_MAX_PARAMETERS + 1 + kExtraOutputCount;

}  // namespace

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
  RowBuffer q, k, v, out, extra[kExtraOutputCount];
  fill_rows(&q, call.q, batch, head, first_row, rows);
  fill_rows(&k, call.k, batch, kv_head, 0, kv_len);
  fill_rows(&v, call.v, batch, kv_head, 0, kv_len);
  fill_rows(&out, call.out, batch, head, first_row, rows);

  void* user_context = scratch;
  void* arguments[kMaxArguments];
  int count = 0;
  for (void* fixed :
       {static_cast<void*>(&user_context), static_cast<void*>(&q.buffer),
        static_cast<void*>(&k.buffer), static_cast<void*>(&v.buffer), static_cast<void*>(&q_block),
        static_cast<void*>(&q_offset), static_cast<void*>(&q_len), static_cast<void*>(&kv_len),
        static_cast<void*>(&batch), static_cast<void*>(&head), static_cast<void*>(&kv_head),
        static_cast<void*>(&scale)})
    arguments[count++] = fixed;
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i)
    arguments[count++] = parameters.arguments[i];
  arguments[count++] = &out.buffer;
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& output = kExtraOutputs[i];
    if ((problem.variant->outputs & output.bit) == 0) continue;
    const fovea_tensor& tensor = call.*output.field;
    if (output.is_per_key) {
      fill_key_output(&extra[i], tensor, item.b, item.head, first_row, rows, kv_len);
    } else {
      fill_row_output(&extra[i], tensor, unwanted.memory, item.b, item.head, first_row, rows);
      if (tensor.data == nullptr) unwanted.memory += unwanted.step;
    }
    arguments[count++] = &extra[i].buffer;
  }
  return kernel.run(arguments);
}

}  // namespace fovea::detail
