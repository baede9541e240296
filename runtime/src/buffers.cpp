// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <limits.h>
#include <string.h>

namespace fovea::detail {
namespace {

// What an empty buffer points at; never read (see HalideBuffer).
alignas(64) constexpr unsigned char kNothing[64] = {};
uint8_t* nothing() { return const_cast<uint8_t*>(kNothing); }

// Strides of axes with one element mean nothing and may be anything: index 0 times a stride is 0.
// All other products have been checked to fit.
uint8_t* row_address(const fovea_tensor& tensor, Place place, int64_t head, int64_t first_row) {
  const int64_t elements = place.b * tensor.stride[0] + head * tensor.stride[1] +
                           (place.row + first_row) * tensor.stride[2];
  return static_cast<uint8_t*>(tensor.data) +
         (elements >> features_shift(tensor)) * dtype_size(tensor.dtype);
}

int32_t stride_of(const fovea_tensor& tensor, int axis) {
  return tensor.extent[axis] > 1 ? static_cast<int32_t>(tensor.stride[axis]) : 1;
}

void fill_table(TableBuffer* table_buffer, const fovea_parameter_info& info,
                const fovea_table& table) {
  bool empty = false;
  for (int32_t axis = 0; axis < info.rank; ++axis) empty = empty || table.extent[axis] == 0;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    // There is no index to clamp to in an empty axis: an empty table is one zero, on which no
    // result depends.
    const auto extent = empty ? 1 : static_cast<int32_t>(table.extent[axis]);
    const auto stride = extent > 1 ? static_cast<int32_t>(table.stride[axis]) : 0;
    table_buffer->dimensions[axis] = {0, extent, stride, 0};
  }
  uint8_t* host = empty ? nothing() : static_cast<uint8_t*>(const_cast<void*>(table.data));
  table_buffer->buffer = {
      0, nullptr, host, 0, halide_type(info.dtype), info.rank, table_buffer->dimensions, nullptr};
}

}  // namespace

HalideType halide_type(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return {kHalideFloat, 32, 1};
    case FOVEA_F16:
      return {kHalideFloat, 16, 1};
    case FOVEA_BF16:
      return {kHalideBFloat, 16, 1};
    case FOVEA_I32:
      return {kHalideInt, 32, 1};
    case FOVEA_I8:
      return {kHalideInt, 8, 1};
    case FOVEA_U8:
    case FOVEA_I4:
    case FOVEA_E4M3:
    case FOVEA_E5M2:
      break;
  }
  return {kHalideUInt, 8, 1};
}

void fill_rows(RowBuffer* rows_buffer, const fovea_tensor& tensor, Place place, int64_t head,
               int64_t first_row, int32_t rows) {
  const int shift = features_shift(tensor);
  const auto features = static_cast<int32_t>(tensor.extent[3] >> shift);
  uint8_t* host = nothing();
  if (rows > 0 && features > 0) host = row_address(tensor, place, head, first_row);
  // One row has no stride to speak of; features keeps it valid for any check a kernel makes.
  const int32_t row_stride =
      tensor.extent[2] > 1 ? static_cast<int32_t>(tensor.stride[2] >> shift) : features;
  rows_buffer->dimensions[0] = {0, features, 1, 0};
  rows_buffer->dimensions[1] = {0, rows, row_stride, 0};
  rows_buffer->buffer = {
      0, nullptr, host, 0, halide_type(tensor.dtype), 2, rows_buffer->dimensions, nullptr};
}

void fill_row_output(RowBuffer* row_buffer, const fovea_tensor& tensor, unsigned char* unwanted,
                     Place place, int64_t head, int64_t first_row, int32_t rows) {
  const bool is_wanted = tensor.data != nullptr;
  uint8_t* host = is_wanted ? row_address(tensor, place, head, first_row) : unwanted;
  row_buffer->dimensions[0] = {0, rows, is_wanted ? stride_of(tensor, 2) : 1, 0};
  row_buffer->buffer = {0,      nullptr, host, 0, halide_type(FOVEA_F32), 1, row_buffer->dimensions,
                        nullptr};
}

void fill_key_output(RowBuffer* row_buffer, const fovea_tensor& tensor, Place place, int64_t head,
                     int64_t first_row, int32_t rows, int32_t keys) {
  const bool has_keys = tensor.data != nullptr && keys > 0;
  uint8_t* host = has_keys ? row_address(tensor, place, head, first_row) : nothing();
  row_buffer->dimensions[0] = {0, has_keys ? keys : 0, has_keys ? stride_of(tensor, 3) : 1, 0};
  row_buffer->dimensions[1] = {0, rows, has_keys ? stride_of(tensor, 2) : 1, 0};
  row_buffer->buffer = {0,      nullptr, host, 0, halide_type(FOVEA_F32), 2, row_buffer->dimensions,
                        nullptr};
}

void fill_group(Buffer<3>* group_buffer, const fovea_tensor& tensor, Place place,
                int64_t first_head, int32_t heads, int32_t rows) {
  RowBuffer first;
  fill_rows(&first, tensor, place, first_head, 0, rows);
  group_buffer->dimensions[0] = first.dimensions[0];
  group_buffer->dimensions[1] = {0, heads, 0, 0};
  group_buffer->dimensions[2] = first.dimensions[1];
  // 64-bit in the call; a kernel's strides are 32-bit, and check_layout sees to rows only.
  group_buffer->dimensions[1].stride =
      tensor.extent[1] > 1 ? static_cast<int32_t>(tensor.stride[1]) : first.dimensions[0].extent;
  group_buffer->buffer = first.buffer;
  group_buffer->buffer.dimensions = 3;
  group_buffer->buffer.dim = group_buffer->dimensions;
}

void fill_slots(Buffer<4>* slots_buffer, const fovea_tensor& tensor, bool has_pages, int64_t b,
                int64_t kv_head) {
  const auto pages = has_pages ? static_cast<int32_t>(tensor.extent[0]) : 1;
  const int64_t page_stride = pages > 1 ? tensor.stride[0] >> features_shift(tensor) : 0;
  const auto slots = static_cast<int32_t>(tensor.extent[2]);
  RowBuffer first;
  fill_rows(&first, tensor, {has_pages ? 0 : b, 0}, kv_head, 0, pages > 0 ? slots : 0);
  slots_buffer->dimensions[0] = first.dimensions[0];
  // Kernels put offsets of their own here.
  slots_buffer->dimensions[1] = {0, INT32_MAX, 1, 0};
  slots_buffer->dimensions[2] = first.dimensions[1];
  slots_buffer->dimensions[2].extent = slots;
  slots_buffer->dimensions[3] = {0, pages, static_cast<int32_t>(page_stride), 0};
  slots_buffer->buffer = first.buffer;
  slots_buffer->buffer.dimensions = 4;
  slots_buffer->buffer.dim = slots_buffer->dimensions;
}

void fill_parameters(const Problem& problem, const void* params, Parameters* parameters) {
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i) {
    const fovea_parameter_info& info = problem.variant->parameters[i];
    // Kernels take every argument as void* and write to outputs only.
    char* field = const_cast<char*>(static_cast<const char*>(params)) + info.offset;
    parameters->arguments[i] = field;
    if (info.kind != FOVEA_TABLE) continue;
    fovea_table table;
    memcpy(&table, field, sizeof(table));
    fill_table(&parameters->tables[i], info, table);
    parameters->arguments[i] = &parameters->tables[i].buffer;
  }
}

}  // namespace fovea::detail
