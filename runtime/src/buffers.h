// Tensors, outputs and parameters of a call as kernels want them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BUFFERS_H
#define FOVEA_BUFFERS_H

#include "halide_abi.h"
#include "sequences.h"

namespace fovea::detail {

// None of these is cleared: what a kernel reads of them is filled, and short calls are about
// nothing else.
template <int rank>
struct Buffer {
  HalideBuffer buffer;
  HalideDimension dimensions[rank];
};
using RowBuffer = Buffer<2>;
using TableBuffer = Buffer<4>;

HalideType halide_type(fovea_dtype dtype);

// log2 of the features that memory is counted in. Of what they divide, all is a multiple of them.
inline int features_shift(const fovea_tensor& tensor) { return tensor.dtype == FOVEA_I4 ? 1 : 0; }

// Rows [first_row, first_row + rows) of one head of the sequence at `place` as a buffer of
// (feature, row).
void fill_rows(RowBuffer* rows_buffer, const fovea_tensor& tensor, Place place, int64_t head,
               int64_t first_row, int32_t rows);

// The first `rows` rows of `heads` heads as a buffer of (feature, head, row).
void fill_group(Buffer<3>* group_buffer, const fovea_tensor& tensor, Place place,
                int64_t first_head, int32_t heads, int32_t rows);

// The slots of one KV head in a cache as a buffer of (feature or two, 0, slot of a page, page): of
// all pages, or of sequence b as a single one.
void fill_slots(Buffer<4>* slots_buffer, const fovea_tensor& tensor, bool has_pages, int64_t b,
                int64_t kv_head);

// An output of one number a row, as a buffer of (row). A null tensor.data goes to `unwanted`.
void fill_row_output(RowBuffer* row_buffer, const fovea_tensor& tensor, unsigned char* unwanted,
                     Place place, int64_t head, int64_t first_row, int32_t rows);

// An output of one number for each row and key, as a buffer of (key, row); empty if not wanted.
void fill_key_output(RowBuffer* row_buffer, const fovea_tensor& tensor, Place place, int64_t head,
                     int64_t first_row, int32_t rows, int32_t keys);

// The variant's parameters as kernel arguments: made once a call, read by all its workers.
struct Parameters {
  void* arguments[FOVEA_MAX_PARAMETERS];
  TableBuffer tables[FOVEA_MAX_PARAMETERS];
};

void fill_parameters(const Problem& problem, const void* params, Parameters* parameters);

// Takes the rows of outputs that the call does not want, one after the other.
struct UnwantedRows {
  unsigned char* memory;
  size_t step;  // bytes, block_rows numbers and more
};

}  // namespace fovea::detail
#endif
