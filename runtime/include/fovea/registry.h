/* registry.h: what generated code tells the runtime about itself. Written by the generator, read by
 * the runtime; not for applications.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_REGISTRY_H
#define FOVEA_REGISTRY_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) FOVEA_CPU_##enumerator##_BIT = bit,
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
  FOVEA_CPU_LAST_BIT_ = 63
};
#define FOVEA_CPU_MASK(enumerator) (UINT64_C(1) << FOVEA_CPU_##enumerator##_BIT)

typedef enum fovea_pass { FOVEA_PREFILL = 0, FOVEA_DECODE = 1, FOVEA_APPEND = 2 } fovea_pass;

/* What a kernel takes its keys and values from. */
typedef enum fovea_cache_kind {
  FOVEA_CACHE_NONE = 0, /* rows before the variant's transforms, one after the other */
  FOVEA_CACHE_SAME = 1, /* a cache of the kernel's own type */
  FOVEA_CACHE_I8 = 2,
  FOVEA_CACHE_I4 = 3,
  FOVEA_CACHE_E4M3 = 4,
  FOVEA_CACHE_E5M2 = 5
} fovea_cache_kind;

/* What an axis of a table runs over; decides the extent the runtime demands. */
typedef enum fovea_axis {
  FOVEA_AXIS_FIXED = 0, /* fovea_parameter_info.fixed_extent */
  FOVEA_AXIS_BATCH = 1, /* B */
  FOVEA_AXIS_HEAD = 2,  /* Hq */
  FOVEA_AXIS_KV_HEAD = 3,
  FOVEA_AXIS_QUERY = 4,    /* extent > every query position: >= q_offset + q_len of each sequence */
  FOVEA_AXIS_KEY = 5,      /* extent > every key position: >= Skv */
  FOVEA_AXIS_ANY = 6,      /* any extent >= 1; indices are clamped into it */
  FOVEA_AXIS_POSITION = 7, /* extent > every query and every key position */
  FOVEA_AXIS_ROW = 8,      /* Sq */
  FOVEA_AXIS_FEATURE = 9,  /* d_qk */
  FOVEA_AXIS_VALUE_FEATURE = 10 /* d_v */
} fovea_axis;

typedef enum fovea_parameter_kind { FOVEA_SCALAR = 0, FOVEA_TABLE = 1 } fovea_parameter_kind;

typedef struct fovea_parameter_info {
  const char* name;
  fovea_parameter_kind kind;
  fovea_dtype dtype;         /* FOVEA_F32, FOVEA_I32, or FOVEA_U8 for tables of bool */
  size_t offset;             /* in the variant's params structure: float, int32_t or fovea_table */
  double minimum, maximum;   /* scalars: allowed range, -INFINITY/INFINITY when open; only finite */
  int32_t exclusive_minimum; /* scalars: minimum itself is not allowed */
  int32_t rank;              /* tables: number of axes, 1 … 4 */
  fovea_axis axes[4];
  int64_t fixed_extent[4]; /* for FOVEA_AXIS_FIXED */
} fovea_parameter_info;

/* Descriptors of parameters live on the caller's stack during a call. */
enum { FOVEA_MAX_PARAMETERS = 32 };

/* Outputs besides the attention itself, as a set. */
enum {
  FOVEA_OUTPUT_LSE = 1,
  FOVEA_OUTPUT_ROW_MAX = 2,
  FOVEA_OUTPUT_ROW_SUM = 4,
  FOVEA_OUTPUT_PROBABILITIES = 8
};

typedef struct fovea_variant_info {
  const char* name;
  uint64_t hash; /* of the canonical text of the declaration */
  const fovea_parameter_info* parameters;
  int32_t parameter_count;    /* at most FOVEA_MAX_PARAMETERS */
  uint32_t outputs;           /* FOVEA_OUTPUT_… */
  int32_t slices;             /* of query and key rows, 1: whole rows */
  uint32_t append_parameters; /* bit i: the transforms of keys and values ask for parameter i */
} fovea_variant_info;

/* A row of the target table, as compiled into the library. */
typedef struct fovea_target_info {
  const char* name;
  const char* architecture; /* "x86", "arm64" */
  uint64_t needed_features; /* FOVEA_CPU_MASK bits */
  int32_t preference;       /* the largest usable one wins */
} fovea_target_info;

/* A prefill kernel computes one work item: one sequence, one query head, one block of query rows.
 * It is Halide's argv form: argv[i] points at the value of a scalar, or is the halide_buffer_t of a
 * buffer (dimension 0 is the feature), in this order:
 *    0  user context, void*: the fovea_scratch of this worker
 *    1  q [d_qk, rows], first row of the block
 *    2  k [d_qk, kv_len]
 *    3  v [d_v, kv_len]
 *    4  q_block int32, index of the row block
 *    5  q_offset int32, position of row 0 of the sequence
 *    6  q_len int32
 *    7  kv_len int32
 *    8  batch int32
 *    9  head int32
 *   10  kv_head int32
 *   11  scale float
 *   12  and on: every parameter in declaration order, tables with one dimension per axis
 *   then out [d_v, rows]
 *   then, f32 and of those that the variant returns: lse [rows], row_max [rows], row_sum [rows],
 *        probabilities [kv_len, rows] (dimension 0 is the key)
 *
 * Row strides and the strides of tables and of the outputs after out are any int32. host is never
 * NULL, also of empty buffers, and an empty table arrives as a single zero. An output of [rows]
 * that the caller does not want is written to memory of the worker; probabilities that nobody wants
 * have extent 0 in dimension 0. Row r of the item sits at position
 * q_offset + q_block * block_rows + r; rows is at most block_rows.
 *
 * Returns 0, or a Halide error code, as all functions of kernels do. */
/* Bytes that a thread of a device reads at once where rows lie so that it can. */
#define FOVEA_WIDE_READ 16

/* A prefill kernel of a device computes every row block of `heads` heads of some sequences that
 * have the same lengths and position, in one launch. Its user context is the call in progress
 * (runtime/src/gpu/device.h); buffers have device memory, elements of 16 bits are uint16.
 *    0  user context
 *    1  q [d_qk, q_len, Hq, sequences], 2  k [d_qk, kv_len, Hkv, sequences], 3  v [d_v, …]
 *    4  q_start int64, 5  k_start, 6  v_start: the element of the memory at which each begins
 *    7  q_block int32, 0
 *    8  head int32, of the first one, in q; outputs have that head first
 *    9  heads_per_kv int32
 *   10  batch int32, of the first sequence: what the variant sees
 *   11  sequence int32, its index in q, k and v; outputs have that sequence first
 *   12  q_offset int32, 13  q_len, 14  kv_len
 *   15  scale float
 *   16  wide_reads int32: not 0 if every row of q, k and v begins at a multiple of FOVEA_WIDE_READ
 *   then every parameter in declaration order
 *   then int64 the element at which out begins, and each extra output that the variant returns but
 *        probabilities
 *   then out [d_v, q_len, heads, sequences], and the extra outputs with the same extents and stride
 *        0 in dimension 0 */
/* A kernel with a cache takes as k and v [d, 1, page_size, pages], in FOVEA_CACHE_I4
 * [d / 2 bytes, …], and before the parameters
 *    pages int32 [n], pages of the sequence
 *    page_shift int32, log2(page_size); without pages 30, pages is a single 0 then
 *    ring_sinks int32
 *    ring_begin int32, the first key from ring_sinks on that is still there
 *    ring_slot int32, its slot
 *    ring_end int32, one after the last slot; without a ring INT32_MAX, and the others are 0
 *    if it is quantised:
 *    k_scale f16 [groups, 1, page_size, pages]
 *    v_scale f16 [groups, 1, page_size, pages]
 *    k_group_shift int32: feature d is in group (d / 16) >> k_group_shift; of a single group 26
 *    v_group_shift int32
 * Key i below ring_sinks has slot i, another one t = ring_slot + i - ring_begin, or t less
 * (ring_end - ring_sinks) if t >= ring_end. Dimension 1 has stride 1 and any extent: kernels put
 * offsets there, in 64 bits. Strides of slots and pages are any int32; of scales that are not there
 * (8-bit floats) they are 0, over a single 1. Keys from ring_sinks to ring_begin - 1 are hidden.
 *
 * On a device k, v and their scales are of all KV heads and sequences:
 *    [features or bytes, 1, page_size, pages or without pages sequences, KV heads], 16-bit elements
 *    as uint16
 * and pages is int32 [n, sequences], by `batch`, whose numbers kernels clamp into the pool. After
 * ring_end come
 *    pool_pages int32, without pages 0: a sequence then lies where a page would
 *    pages_start int64, the element of the memory at which `pages` begins
 * and after v_group_shift k_scale_start int64 and v_scale_start. */
/* An append kernel takes
 *    0  user context, void*: the fovea_scratch of this worker
 *    1  k_new [d_qk, rows]
 *    2  v_new [d_v, rows], rows at most block_rows
 *    3  first_key int32, position of row 0
 *    4  batch int32
 *    5  kv_head int32
 *    if the cache is quantised:
 *    k_group_shift int32, v_group_shift int32
 *    has_scales int32, 0: all scales are 1, and what it writes to the last two is of no use
 *    then those parameters that are in fovea_variant_info.append_parameters, in declaration order
 *    then k [d_qk, rows] (FOVEA_CACHE_I4: bytes), v [d_v, rows], slots next to each other
 *    if the cache is quantised: k_scale [groups, rows], v_scale [groups, rows] */
/* An append kernel of a device writes the tokens of `heads` KV heads of some sequences that have as
 * many of them and as many keys before, with a launch for each tensor that it writes:
 *    0  user context
 *    1  k_new [d_qk, rows, Hkv, sequences], 2  v_new [d_v, …]
 *    3  k_new_start int64, 4  v_new_start: the element of the memory at which each begins
 *    5  first_key int32, position of row 0
 *    6  kv_head int32, of the first one
 *    7  batch int32, of the first sequence: what the variant sees, and in `pages`
 *    8  sequence int32, its index in k_new and v_new
 *    9  rows int32, 10  heads, 11  sequences
 *    then pages … pages_start, as of calls on a device; ring_begin as after the append
 *    if the cache is quantised: k_group_shift, v_group_shift, has_scales, as above
 *    then the parameters, as above
 *    then for each tensor that is written, k, v and of a quantised cache k_scale, v_scale:
 *        int64 the element at which it begins, int32 the elements of a row (scales that nobody
 *        wants: 0), its slot stride, page stride (without pages of sequences), KV head stride
 *    then these tensors as [elements, any extent], to the second dimension of which kernels put
 *        64-bit offsets
 * Keys from ring_sinks to ring_begin - 1, and keys whose entry in `pages` is no page of the pool,
 * are left out. */
/* A decode kernel is several functions of the same argv form. The rows of a KV head are the rows of
 * its query heads, the heads of a row next to each other: row r is row r / heads of the sequence in
 * query head kv_head * heads + r % heads. They are computed in tiles, the keys in chunks of whole
 * key blocks. A part makes of a tile and a chunk a record for each row: record_lanes *
 * record_slots * record_groups floats, which only the kernel understands.
 *
 * A part takes
 *    0  user context, void*: the fovea_scratch of this worker
 *    1  q [d_qk, heads, q_len], of this KV head
 *    2  k [d_qk, kv_len]
 *    3  v [d_v, kv_len]
 *    4  heads int32, query heads that share the KV head
 *    5  first_row int32, of the tile; rows past the last one repeat it
 *    6  block_begin int32
 *    7  block_end int32, key blocks of the chunk; at most ceil(kv_len / key_block)
 *    8  q_offset int32
 *    9  q_len int32
 *   10  kv_len int32
 *   11  batch int32
 *   12  kv_head int32
 *   13  scale float
 *   then every parameter in declaration order
 *   then records float [record_lanes, record_slots, record_groups, rows of the tile], dense
 *
 * The finish of one row takes the user context, records [record_lanes, record_slots,
 * record_groups, chunks] with any stride between chunks, head int32, row int32, q_offset, q_len,
 * kv_len, batch, kv_head, the parameters, out [d_v, 1], and of the extra outputs those that the
 * variant returns, lse [1], row_max [1], row_sum [1].
 *
 * The range of a KV head takes the user context, heads, q_offset, q_len, kv_len, batch, kv_head,
 * the parameters, and writes int32 [2]: the first key block that any row sees, and the one after
 * the last; not below the first. */
/* A decode kernel of a device has one part and no range. The part makes records of all tiles and
 * chunks of `heads` KV heads of some sequences that have the same lengths and position, in one
 * launch, as a prefill kernel does; item i is chunk i % chunks of tile i / chunks, and chunks begin
 * at every chunk_blocks-th key block.
 *    0  user context
 *    1  q, 2  k, 3  v, 4  q_start, 5  k_start, 6  v_start, as of prefill
 *    7  item int32, 0
 *    8  kv_head int32, of the first one, in k; records have that head first
 *    9  heads_per_kv int32
 *   10  chunks int32
 *   11  batch, 12  sequence, 13  q_offset, 14  q_len, 15  kv_len, 16  scale, 17  wide_reads, as of
 *        prefill
 *   of a kernel with a cache: chunks_before_gap int32, gap_chunks int32: chunk i is chunk
 *        i + gap_chunks of the keys from chunks_before_gap on, those between are given up by a ring
 *   then every parameter in declaration order
 *   then int64 the float at which the records begin
 *   then records [record_lanes * record_slots * record_groups, rows of the tile, items, heads,
 *        sequences], dense in the first three
 *
 * The finish of all rows of `heads` query heads of such sequences:
 *    0  user context
 *    1  records as above, of all KV heads, 2  the int64 float at which they begin
 *    3  row int32, 0
 *    4  head int32, of the first one; outputs have that head first
 *    5  heads_per_kv, 6  chunks, 7  batch
 *    8  sequence int32, 0: of the records
 *    9  q_offset, 10  q_len, 11  kv_len
 *   then every parameter, the int64 starts of outputs, and the outputs, as of prefill */
typedef struct fovea_decode_part {
  int32_t rows; /* of its tile */
  int (*run)(void** argv);
} fovea_decode_part;

typedef struct fovea_decode_info {
  int32_t key_block;    /* keys */
  int32_t chunk_blocks; /* key blocks of a chunk */
  int32_t record_lanes, record_slots, record_groups;
  int32_t range_of_head; /* 0: the range of a sequence is the same for all its heads */
  int32_t part_count;
  const fovea_decode_part* parts; /* by rising rows; of a CPU the first one has one row */
  int (*range)(void** argv);      /* of a device NULL */
  int (*finish)(void** argv);
} fovea_decode_info;

typedef struct fovea_kernel_info {
  const char* name; /* fovea_<pass>__<variant>__<dtype>__d<dims>__<target>, and its limits */
  int32_t variant;  /* index into fovea_library_info.variants */
  int32_t target;   /* index into fovea_library_info.targets */
  fovea_pass pass;
  fovea_dtype dtype;
  fovea_cache_kind cache;
  int32_t d_qk, d_v;
  int32_t block_rows;      /* decode: of its widest tile */
  size_t scratch_bytes;    /* what the kernel takes from its fovea_scratch, alignment included */
  int (*run)(void** argv); /* prefill and append, else NULL */
  const fovea_decode_info* decode; /* decode, else NULL */
  /* Calls that it may be chosen for: the longest sequence has at most so many query rows and keys;
   * 0: any number. A kernel with limits stands before the one that differs in nothing but its
   * schedule and has none. */
  int32_t most_rows, most_keys;
} fovea_kernel_info;

typedef struct fovea_library_info {
  uint32_t abi_version; /* FOVEA_ABI_VERSION of the generator */
  const char* name;
  const fovea_variant_info* variants;
  int32_t variant_count;
  const fovea_target_info* targets;
  int32_t target_count;
  const fovea_kernel_info* kernels; /* in the order of their variants */
  int32_t kernel_count;
} fovea_library_info;

/* The entry points behind every generated function. */
fovea_status fovea_variant_run(const fovea_library_info* library, int32_t variant,
                               const fovea_call* call, const void* params);
size_t fovea_variant_workspace(const fovea_library_info* library, int32_t variant,
                               const fovea_call* call);
fovea_status fovea_variant_append(const fovea_library_info* library, int32_t variant,
                                  const fovea_append* append, const void* params);
fovea_status fovea_variant_explain(const fovea_library_info* library, int32_t variant,
                                   const fovea_call* call, char* text, size_t capacity);

/* Memory of one worker, handed out as a stack. Kernels reach it through
 * fovea_scratch_allocate/release, to which the generator renames halide_malloc/halide_free in
 * kernel objects. Pieces are aligned to 64 bytes and may be released in any order; each costs its
 * size rounded up to 64 plus 64 bytes. NULL: no room. */
typedef struct fovea_scratch {
  unsigned char* base;
  size_t size;
  size_t used;
  unsigned char* last; /* start of the newest piece, NULL: none */
} fovea_scratch;
void* fovea_scratch_allocate(void* scratch, size_t size);
void fovea_scratch_release(void* scratch, void* memory);

/* Halide's device functions, as kernel objects call them; the generator renames them. */
const void* fovea_cuda_device_interface(void);
const void* fovea_opencl_device_interface(void);
int fovea_device_copy_to_device(void* call, void* buffer, const void* device_interface);
int fovea_cuda_initialize_kernels(void* call, void** state, const char* source, int32_t size);
int fovea_opencl_initialize_kernels(void* call, void** state, const char* source, int32_t size);
void fovea_cuda_finalize_kernels(void* call, void* state);
void fovea_opencl_finalize_kernels(void* call, void* state);
int fovea_cuda_run(void* call, void* state, const char* kernel, int32_t blocks_x, int32_t blocks_y,
                   int32_t blocks_z, int32_t threads_x, int32_t threads_y, int32_t threads_z,
                   int32_t shared_bytes, const size_t* sizes, void** arguments,
                   const int8_t* is_buffer);
int fovea_opencl_run(void* call, void* state, const char* kernel, int32_t blocks_x,
                     int32_t blocks_y, int32_t blocks_z, int32_t threads_x, int32_t threads_y,
                     int32_t threads_z, int32_t shared_bytes, const size_t* sizes, void** arguments,
                     const int8_t* is_buffer);

/* The pool of the one Halide runtime in the library (its halide_do_par_for under a name of our
 * own). */
int fovea_halide_do_par_for(void* user_context,
                            int (*task)(void* user_context, int index, uint8_t* closure), int min,
                            int size, uint8_t* closure);

#ifdef __cplusplus
}
#endif
#endif
