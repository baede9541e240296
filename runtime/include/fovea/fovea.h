/* fovea.h: the C interface of generated attention libraries.
 *
 * A generated library (fovea_add_library) declares one function per variant in its own header; this
 * file holds the types those functions share. C99 and C++; no function here throws, prints, aborts
 * or keeps a pointer of the caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_FOVEA_H
#define FOVEA_FOVEA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

/* Raised when the layout of a structure shared with generated code changes, or the arguments of
 * kernels. */
#define FOVEA_ABI_VERSION 7

/* What a call returns. On anything but FOVEA_OK nothing was written and fovea_last_message() says
 * what to change. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /* a field of the call or of the parameters is outside what is allowed */
  FOVEA_INVALID_ARGUMENT = 1,
  /* valid, but no kernel for it was built into this library, or this CPU runs none */
  FOVEA_UNSUPPORTED = 2,
  /* a workspace was given and is smaller than ..._workspace() says */
  FOVEA_WORKSPACE_TOO_SMALL = 3,
  /* no workspace was given and the allocator returned NULL */
  FOVEA_OUT_OF_MEMORY = 4,
  /* a kernel or the caller's parallel_for reported an error; out is undefined */
  FOVEA_KERNEL_FAILED = 5
} fovea_status;

typedef enum fovea_dtype {
  FOVEA_F32 = 0,
  FOVEA_F16 = 1,
  FOVEA_BF16 = 2,
  FOVEA_I32 = 3,
  FOVEA_I8 = 4,
  FOVEA_U8 = 5,
  /* of quantised caches only; two FOVEA_I4 to a byte, see fovea_cache */
  FOVEA_I4 = 6,
  FOVEA_E4M3 = 7, /* 8-bit floats of the Open Compute Project, 2023: no infinities, up to 448 */
  FOVEA_E5M2 = 8  /* the upper byte of f16 */
} fovea_dtype;

/* A strided view: axes batch, head, row, feature. Strides count elements, may be 0 (broadcast) on
 * inputs and negative on batch, head and row; the feature stride must be 1 (or anything if
 * extent[3] is 1). data points at element (0,0,0,0). The last axis of `probabilities` is the key,
 * with any stride but 0. */
typedef struct fovea_tensor {
  void* data;
  fovea_dtype dtype;
  int64_t extent[4];
  int64_t stride[4];
} fovea_tensor;

/* A run-time table of a variant (v.table): up to four axes in the order of its declaration. A
 * stride of 0 broadcasts. Entries are float or int32_t, of a table of bool unsigned char: 0 is
 * false, anything else true. */
typedef struct fovea_table {
  const void* data;
  int64_t extent[4]; /* unused axes: 0 */
  int64_t stride[4]; /* elements */
} fovea_table;

/* Sequences of different lengths, one after the other without padding. Zero-initialise, set size.
 * q, out and the extra outputs then have batch 1, and in axis 2 the rows of all sequences; k and v
 * likewise, unless the call has a cache. Everything else that the call and the variant have for
 * each sequence (kv_len, q_offset, tables with a batch axis) has B = batch entries.
 *
 * Sequences of at most 16 rows are computed by the decode pass, under the conditions that a call of
 * few rows has, and the others by prefill, in one call. Sequences without rows or without keys are
 * allowed.
 *
 * What a call without ragged has Sq and Skv for are the most rows and keys that a sequence has, of
 * the rows of tables and of the keys of tables and probabilities at least. The workspace depends on
 * cu_q, cu_k and kv_len besides the shapes. */
typedef struct fovea_ragged {
  uint32_t size; /* sizeof(fovea_ragged) */
  int64_t batch; /* B, sequences */
  /* [B + 1]: sequence b has the rows cu_q[b] … cu_q[b + 1] - 1 of q and out. Not falling, within 0
   * and q.extent[2]. fovea_call.q_len must be NULL. */
  const int32_t* cu_q;
  /* [B + 1], the same for the rows of k and v; fovea_call.kv_len, if given, may ask for fewer. NULL
   * if and only if the call has a cache. */
  const int32_t* cu_k;
} fovea_ragged;

/* How a KV cache holds the keys and values of its sequences. Zero-initialise, set size. k and v of
 * the call are its memory, of which nothing but the used slots is ever read:
 *
 *   without pages   k [B, Hkv, slots, d_qk]            v [B, Hkv, slots, d_v]
 *   with pages      k [pages, Hkv, page_size, d_qk]    v [pages, Hkv, page_size, d_v]
 *
 * Key i of a sequence lies in slot i, or in a ring in slot
 *
 *   i < ring_sinks ? i : ring_sinks + (i - ring_sinks) % ring_window
 *
 * and slot s of sequence b in slot s % page_size of page block_table[b][s / page_size]. The keys
 * that a ring has given up, from ring_sinks to kv_len - ring_window - 1, are hidden from every
 * query; all others keep their positions.
 *
 * Keys and values are held as ..._append() leaves them: after the variant's own transforms of keys
 * and values, such as rotary positions, which calls with a cache do not apply again.
 *
 * k and v have the type of q, or are quantised: FOVEA_I8, FOVEA_I4, FOVEA_E4M3 or FOVEA_E5M2, both
 * alike. A quantised element stands for its number times the scale of its group. In FOVEA_I4 the
 * byte i of every 16 holds feature i in its lower and feature i + 16 in its upper half, each plus 8
 * (d a multiple of 32; extents and strides count features, strides are even).
 *
 * kv_len must be given: 0 to the slots of a sequence, block_table_columns * page_size with pages;
 * of a ring to any length. Those slots are what calls without a cache have Skv for; of a ring it is
 * the largest kv_len, and probabilities may have room for more. */
typedef struct fovea_cache {
  uint32_t size; /* sizeof(fovea_cache) */
  /* [B, block_table_columns], NULL: no pages. page_size, k.extent[2], must then be a power of two.
   * Entries of used slots are 0 to pages - 1; others are not looked at. Sequences may share pages.
   * On a device it is its memory, as the tensors are, and entries are not checked: a sequence with
   * others gets an unspecified result, made of what lies in the pool, and nothing is appended to
   * slots that they name. */
  const int32_t* block_table;
  int64_t block_table_columns;
  int64_t block_table_stride; /* entries from one sequence to the next */
  /* ring_window 0: no ring; else slots from ring_sinks + ring_window on, as many as a sequence must
   * have, are not used. */
  int32_t ring_sinks, ring_window;
  /* [as k and v, but groups for the features], FOVEA_F16, feature stride 1 if groups > 1: scales of
   * groups of features next to each other, 1 group or groups of 16, 32, 64, … features. Needed by
   * FOVEA_I8 and FOVEA_I4; of the 8-bit floats both may have data NULL: 1. Unused otherwise: data
   * must be NULL.
   */
  fovea_tensor k_scale, v_scale;
} fovea_cache;

/* task(closure, i) computes item i and returns 0, or non-zero to stop. */
typedef int (*fovea_task)(void* closure, int32_t index);
/* Runs task(closure, 0 … count-1), each exactly once, in any order, on any threads; returns after
 * the last one, with 0 or the first non-zero result. count never exceeds the thread limit of the
 * call. */
typedef int (*fovea_parallel_for)(void* pool, int32_t count, fovea_task task, void* closure);

typedef struct fovea_allocator {
  void* (*allocate)(void* context, size_t size, size_t alignment); /* NULL: out of memory */
  void (*release)(void* context, void* memory);
  void* context;
} fovea_allocator;

/* Where a call is computed. */
typedef enum fovea_device {
  FOVEA_DEVICE_CPU = 0,
  FOVEA_DEVICE_CUDA = 1,
  FOVEA_DEVICE_OPENCL = 2
} fovea_device;

/* How to run a call. Zero-initialise, set size, then only what differs from the default. */
typedef struct fovea_exec {
  uint32_t size;      /* sizeof(fovea_exec) */
  int32_t threads;    /* at most this many at once; 0: as many as this process may use */
  const char* target; /* "x86-avx2" forces a target, NULL: FOVEA_TARGET, else the best */
  /* "prefill" or "decode" forces a pass. NULL: decode for at most 16 query rows, where the library
   * has it and probabilities are not wanted, and on a device where the call has a workspace; else
   * prefill. Of a ragged batch for each sequence. */
  const char* pass;
  fovea_parallel_for parallel_for;  /* NULL: the library's own pool */
  void* pool;                       /* first argument of parallel_for */
  const fovea_allocator* allocator; /* used only when no workspace is given; NULL: malloc */
  /* NULL on the CPU. CUDA: the cudaStream_t (or CUstream) to run in, NULL is the default stream.
   * OpenCL: the cl_command_queue to run in. */
  void* stream;

  /* docs/gpu.md. On a device data of all tensors and tables is its memory: pointers of CUDA, of
   * OpenCL cl_mem objects whose first element is element (0,0,0,0). Arrays of lengths and offsets,
   * the call itself and scalar parameters stay with the host, and are read before the call returns.
   * A call on a device only queues its work: it copies nothing, waits for nothing and allocates
   * nothing, but loads the driver and compiles the kernel when they are first needed. Decode needs
   * a workspace, which is memory of the device as well, and must stay until the work is done. The
   * block table and the scales of a cache are memory of the device, too. No kernel of a device
   * returns probabilities. */
  fovea_device device;
  /* On a device, not 0: tensors and tables are memory of the host. The call takes memory of the
   * device for all of them, and for what decode needs, copies in, computes, copies out, and waits.
   * stream and workspace may be NULL. Of a cache with pages the whole pool is copied, by an append
   * back as well: nobody else may write to it meanwhile. */
  int32_t host_tensors;
} fovea_exec;

/* One attention call. Zero-initialise, set size. Shapes (B batch, Hq/Hkv heads, Sq/Skv rows):
 *
 *   q    [B, Hq,  Sq,  d_qk]
 *   k    [B, Hkv, Skv, d_qk]
 *   v    [B, Hkv, Skv, d_v]
 *   out  [B, Hq,  Sq,  d_v]
 *   lse, row_max, row_sum   [B, Hq, Sq, 1]     always f32; all others share one type
 *   probabilities           [B, Hq, Sq, Skv]   f32
 *
 * Hq must be a multiple of Hkv; query head h reads KV head h / (Hq / Hkv). Elements of an output
 * must not share memory. out may be exactly q (same data, extents and strides); otherwise outputs
 * must not overlap inputs, tables or each other. With B, Hq or Sq = 0 a call does nothing and
 * succeeds. Structures of an older version, known by their size, are read as if the rest were zero.
 *
 * lse, row_max, row_sum and probabilities are there for variants that return them. A sink counts in
 * all of them; a row without any key (and sink) gets -inf, -inf, 0 and zeros. */
typedef struct fovea_call {
  uint32_t size; /* sizeof(fovea_call) */
  fovea_tensor q, k, v, out;
  fovea_tensor lse; /* natural-log sum of exponentials; data NULL: not wanted */
  /* Any finite number; NULL: 1/sqrt(d_qk), of a variant with n slices 1/sqrt(d_qk / n). */
  const float* scale;

  /* [B] each, may be NULL. Rows of each sequence, 0 to Sq; NULL: Sq. Output rows past q_len[b] are
   * left untouched. */
  const int32_t* q_len;
  /* Keys of each sequence, 0 to Skv; NULL: Skv. Keys past kv_len[b] are never read. */
  const int32_t* kv_len;
  /* Position of query row 0, may be negative; NULL: kv_len[b] - q_len[b] (bottom-right). Zeros give
   * top-left. */
  const int32_t* q_offset;

  const fovea_ragged* ragged; /* NULL: every sequence has its own batch index */
  const fovea_cache* cache; /* NULL: k and v are as shown above, before the variant's transforms */
  /* Any alignment; NULL: from the allocator while the call runs. On a device its memory (a pointer
   * of CUDA, a cl_mem), which only decode uses; NULL: few rows are computed by prefill. */
  void* workspace;
  size_t workspace_size;  /* bytes */
  const fovea_exec* exec; /* NULL: defaults */

  /* Data NULL: not wanted; so in calls whose size ends before them. */
  fovea_tensor row_max; /* the largest logit of each row */
  fovea_tensor row_sum; /* the sum of e^(logit - row_max), or of a variant's own weights */
  /* The normalised weights. Left untouched: keys from kv_len[b], rows from q_len[b] on. */
  fovea_tensor probabilities;
} fovea_call;

/* New tokens for a cache: transforms their keys and values as the variant says, quantises them if
 * the cache is of a quantised type, and writes them into the slots that follow. Zero-initialise,
 * set size.
 *
 *   k_new [B, Hkv, S, d_qk]    v_new [B, Hkv, S, d_v]
 *
 * Scales are made so that the largest number of a group becomes the largest of its type: |x| / 127
 * in FOVEA_I8, / 7 in FOVEA_I4, / 448 in FOVEA_E4M3, / 57344 in FOVEA_E5M2, rounded to f16. What
 * that costs: docs/caches.md. NaN or infinity in a row makes NaN of its group. Without scales
 * (8-bit floats) numbers beyond the largest become the largest, NaN and infinity NaN.
 *
 * Slots of different tokens must not share memory, nor with k_new, v_new and tables; that block
 * tables lead no two tokens to one slot is not checked. Entries are looked at only of slots that
 * are written. Of tokens that a ring gives up before the call ends nothing is written. Tables over
 * query heads, positions or rows may have any extent, also 0; those over keys reach to the last new
 * one. Of exec the call looks at threads, target, parallel_for, pool and allocator; memory is taken
 * from the allocator only if the variant transforms rows or the cache is quantised. On a device
 * (exec.device, stream, host_tensors as of calls) the append only queues its work: k_new and v_new,
 * the cache and its block table are memory of the device, lengths of the host. */
typedef struct fovea_append {
  uint32_t size; /* sizeof(fovea_append) */
  fovea_tensor k_new, v_new;
  const int32_t* new_len;   /* [B] tokens of each sequence, 0 to S; NULL: S */
  const int32_t* kv_len;    /* [B] keys that the cache holds before the call; NULL: 0 */
  fovea_tensor k, v;        /* the cache's memory, as in fovea_call */
  const fovea_cache* cache; /* NULL: slots without pages */
  /* NULL: every sequence has its own batch index in k_new and v_new; else they have batch 1,
   * new_len is NULL, cu_q says which of their rows belong to each sequence, and cu_k is NULL. */
  const fovea_ragged* ragged;
  const fovea_exec* exec; /* NULL: defaults */
} fovea_append;

/* A part of attention: what calls gave for some rows over some of the keys.
 *
 *   out [B, H, S, d]   f32, f16 or bf16
 *   lse [B, H, S, 1]   f32, natural logarithm */
typedef struct fovea_partial {
  fovea_tensor out, lse;
} fovea_partial;

/* Combines parts over disjoint sets of keys into what one call over all those keys gives:
 *
 *   lse = ln(sum over parts of e^lse_i),   out = sum over parts of e^(lse_i - lse) * out_i
 *
 * The result is a part again. For softmax, with or without a sink (which must be in the lse of one
 * part only); docs/merging.md tells what to do with sinks and other weights.
 *
 * - Any number of parts. A part without keys for a row has lse = -inf there; what its out holds,
 * NaN included, has no effect. A row without keys in every part (or count = 0) gets out = 0 and lse
 * = -inf.
 * - A NaN in out reaches its own row and feature, an lse of NaN or +inf makes its own row NaN, lse
 *   included. A part whose lse lies more than 745 below the largest weighs 0, which makes NaN of an
 *   infinity in its out.
 * - Weights and sums are double; out and lse are rounded once, out to f32 and from there to its
 * type. A row with keys in one part only keeps that part's bits.
 * - The same parts in the same order give the same bits, with any number of threads.
 *
 * All extents are those of merged->out. Each tensor has a type of its own and any strides, 0 on
 * batch, head and row of parts included. merged->lse.data may be NULL: not wanted. merged->out may
 * be exactly one part's out (same data, type, extents and strides) and merged->lse exactly one
 * part's lse; otherwise the result must not overlap parts or itself. Of exec (NULL: defaults) it
 * looks at threads, parallel_for and pool; stream must be NULL. A merge of few rows runs on the
 * calling thread. Nothing is ever allocated. */
fovea_status fovea_merge(const fovea_partial* parts, int64_t count, const fovea_partial* merged,
                         const fovea_exec* exec);

/* This thread's last error: the field, its value and what is allowed. Never NULL; empty after a
 * successful call. The text stays valid until this thread's next call into any fovea function. */
const char* fovea_last_message(void);

/* "invalid argument", … for any value, never NULL. */
const char* fovea_status_name(fovea_status status);

/* Restricts which targets this process may choose, as a comma-separated list of names
 * ("x86-sse41,x86-avx2"); NULL lifts the restriction. An unknown name is FOVEA_INVALID_ARGUMENT and
 * changes nothing. Thread-safe; calls in flight keep theirs.
 * A call takes the target that fovea_exec.target names, else the one that the environment variable
 * FOVEA_TARGET names (not looked at if exec.target is set; empty is unset), else the usable one
 * with the largest preference; in each case only within this restriction. A named target that is
 * unknown is FOVEA_INVALID_ARGUMENT; one that is disabled, not compiled in or not runnable here is
 * FOVEA_UNSUPPORTED. There is no silent fallback. */
fovea_status fovea_set_enabled_targets(const char* names);

/* Writes the CPU features this process may use (CPU and operating system agree), comma-separated,
 * at most capacity bytes with the terminating zero; returns the length that the whole text has. */
size_t fovea_cpu_features(char* text, size_t capacity);

/* Threads that a call with exec.threads = 0 uses: HL_NUM_THREADS if set, else CPUs in this
 * process's affinity mask, limited by the cgroup CPU quota. At least 1. */
int32_t fovea_default_threads(void);

#ifdef __cplusplus
}
#endif
#endif
