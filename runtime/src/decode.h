// Runs a decode call: keys in chunks, a record for each row and chunk, rows merged from records.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DECODE_H
#define FOVEA_DECODE_H

#include "workspace.h"

namespace fovea::detail {

// Query rows up to which decode is chosen; any number can be forced.
constexpr int64_t kDecodeRows = 16;

fovea_status plan_decode(const Problem& problem, const fovea_kernel_info& kernel,
                         int32_t default_threads, WorkspacePlan* plan);

// Everything has been checked. Results depend on shapes, lengths and parameters alone: chunks begin
// at every chunk_blocks-th key block, and records are merged in their order, whoever made them.
fovea_status run_decode(const Problem& problem, const void* params, const fovea_kernel_info& kernel,
                        const WorkspacePlan& plan);

}  // namespace fovea::detail
#endif
