// Everything that is checked before any work is done. A failed check sets this thread's message.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_CHECKS_H
#define FOVEA_CHECKS_H

#include <fovea/registry.h>

#include "outputs.h"
#include "selection.h"

namespace fovea::detail {

// A call that has passed its checks: structures completed to their present size, defaults filled
// in.
struct Problem {
  fovea_call call;
  fovea_exec exec;
  const fovea_variant_info* variant;
  Request request;
  int64_t batch, q_heads, kv_heads, q_rows, kv_rows, d_qk, d_v;  // each fits int32
  float scale;
  bool nothing_to_do;  // no output element exists
};

// The sizes that structures of the first published version have; later versions only append.
constexpr size_t kFirstCallSize = offsetof(fovea_call, exec) + sizeof(const fovea_exec*);
constexpr size_t kFirstExecSize = offsetof(fovea_exec, stream) + sizeof(void*);

// Copies a structure of an older or the present version, which begins with its size, and zeroes
// what it lacks.
fovea_status complete(const char* name, const void* from, size_t first_size, size_t size, void* to);

// The settings of exec that every entry point looks at.
fovea_status check_threads(const fovea_exec& exec);
fovea_status check_stream(const fovea_exec& exec);

// Library row and variant index.
fovea_status check_library(const fovea_library_info* library, int32_t variant);

// Structures, execution settings, scale, tensors, lengths. Of capabilities, replaces the forced
// target by the call's. The problem comes in cleared.
fovea_status check_call(const fovea_library_info& library, int32_t variant, const fovea_call* call,
                        Capabilities* capabilities, Problem* problem);

fovea_status check_tensors(Problem* problem);
fovea_status check_lengths(const Problem& problem);

// The parameter structure of the variant, against the problem's shapes; tables must not overlap
// outputs.
fovea_status check_parameters(const Problem& problem, const void* params);

// Whether a given workspace has at least `needed` bytes.
fovea_status check_workspace(const Problem& problem, size_t needed);

// Rows of sequence b, its keys, and the position of its first row.
int32_t rows_of(const Problem& problem, int64_t b);
int32_t keys_of(const Problem& problem, int64_t b);
int32_t offset_of(const Problem& problem, int64_t b);

}  // namespace fovea::detail
#endif
