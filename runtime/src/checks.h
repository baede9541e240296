// Everything that is checked before any work is done. A failed check sets this thread's message.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_CHECKS_H
#define FOVEA_CHECKS_H

#include <fovea/registry.h>

#include "outputs.h"
#include "selection.h"
#include "slots.h"

namespace fovea::detail {

// A call that has passed its checks: structures completed to their present size, defaults filled
// in.
struct Problem {
  fovea_call call;
  fovea_exec exec;
  fovea_ragged ragged;  // cleared if the call has none
  fovea_cache cache;    // likewise
  const fovea_variant_info* variant;
  Request request;
  // Of q_rows and kv_rows the most that a sequence may have. Each fits int32.
  int64_t batch, q_heads, kv_heads, q_rows, kv_rows, d_qk, d_v;
  int64_t decode_rows;  // sequences of at most so many rows run in decode, the others in prefill
  int32_t page_shift;   // log2 of the slots of a page
  float scale;
  bool nothing_to_do;  // no output element exists

  // Tensors whose addresses mean nothing to the host.
  bool has_opencl_memory() const {
    return request.device == FOVEA_DEVICE_OPENCL && exec.host_tensors == 0;
  }
  // Arrays that the host cannot read: tensors, tables of the variant, the block table.
  bool has_device_memory() const {
    return request.device != FOVEA_DEVICE_CPU && exec.host_tensors == 0;
  }
  bool is_ragged() const { return ragged.cu_q != nullptr; }
  bool has_cache() const { return request.cache != FOVEA_CACHE_NONE; }
  bool has_pages() const { return cache.block_table != nullptr; }
  bool has_ring() const { return cache.ring_window > 0; }
};

// Kernels compute with 32-bit positions, add and subtract them (a distance, a window of up to 2^30)
// and round lengths up to whole blocks: positions stay within 2^30 less one block.
constexpr int64_t kLargestPosition = (INT64_C(1) << 30) - 65536;

// The sizes that structures of the first published version have; later versions only append.
constexpr size_t kFirstCallSize = offsetof(fovea_call, exec) + sizeof(const fovea_exec*);
constexpr size_t kFirstExecSize = offsetof(fovea_exec, stream) + sizeof(void*);
constexpr size_t kFirstCacheSize = offsetof(fovea_cache, v_scale) + sizeof(fovea_tensor);
constexpr size_t kFirstRaggedSize = offsetof(fovea_ragged, cu_k) + sizeof(const int32_t*);
constexpr size_t kFirstAppendSize = offsetof(fovea_append, exec) + sizeof(const fovea_exec*);

// Copies a structure of an older or the present version, which begins with its size, and zeroes
// what it lacks.
fovea_status complete(const char* name, const void* from, size_t first_size, size_t size, void* to);

// exec but for the pass, completed into one that comes in cleared; of capabilities, replaces the
// forced target by its own.
fovea_status check_exec(const fovea_library_info& library, const fovea_exec* given,
                        Capabilities* capabilities, fovea_exec* exec);
// Where the call is computed: sets request->device, and of capabilities what is known of it.
fovea_status check_device(const fovea_library_info& library, const fovea_exec& exec,
                          const void* memory, Capabilities* capabilities, Request* request);
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

// What kv_rows is, in a message.
const char* capacity_name(const Problem& problem);

// What k and v hold, from their types: which kernels can read them.
fovea_cache_kind cache_kind_of(fovea_dtype keys, fovea_dtype queries);
// A type that kernels compute in.
fovea_status check_float(const char* name, fovea_dtype dtype);
// Those of k and v in a cache, and in FOVEA_I4 all that lets their elements be looked at. `name`:
// the tensor whose type kernels compute in.
fovea_status check_cache_types(const Problem& problem, const char* name);
// The cache but for its block table; sets page_shift, and kv_rows to the slots of a sequence.
fovea_status check_cache(Problem* problem);
// A ragged structure without its arrays, completed.
fovea_status check_ragged(const fovea_ragged* given, fovea_ragged* ragged);
// Whether cu[0 … batch] are rows of a tensor of `rows` rows, not falling; and how many the longest
// sequence has.
fovea_status check_offsets(const char* name, const int32_t* cu, int64_t batch, int64_t rows,
                           const char* rows_name, int64_t* longest);
// The sequences of a ragged call; sets batch, q_rows and, without a cache, kv_rows.
fovea_status check_sequences(Problem* problem);
// The entries of some slots of sequence b; of the slots that kv_len says are used. In memory of a
// device nothing but whether there is any page at all.
fovea_status check_block_table(const Problem& problem, int64_t b, int64_t first_slot,
                               int64_t end_slot);
fovea_status check_block_table(const Problem& problem);

// The parameter structure of the variant, against the problem's shapes; tables must not overlap
// outputs.
fovea_status check_parameters(const Problem& problem, const Outputs& outputs, const void* params);

// Whether a given workspace has at least `needed` bytes.
fovea_status check_workspace(const Problem& problem, size_t needed);

}  // namespace fovea::detail
#endif
