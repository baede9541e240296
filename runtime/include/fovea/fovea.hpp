/// fovea.hpp: the C interface in C++17, without exceptions and without a library of its own.
///
///   std::vector<float> q(b * h * s * d), k(...), v(...), out(...);
///   fovea::Call call(fovea::tensor(q.data(), {b, h, s, d}), fovea::tensor(k.data(), {b, h, s, d}),
///                    fovea::tensor(v.data(), {b, h, s, d}), fovea::tensor(out.data(), {b, h, s,
///                    d}));
///   fovea::Status status = my_attention_causal(&call, &params);
///   if (!status.ok()) log(status.message());
///
/// Everything here only fills the structures of fovea.h; the contract is stated there.
/// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_FOVEA_HPP
#define FOVEA_FOVEA_HPP

#include <fovea/fovea.h>

#include <cstddef>
#include <cstdint>

namespace fovea {

/// Element types that C++ has no arithmetic type for: 16 bits of storage with the meaning named.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};

template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr fovea_dtype value = FOVEA_F32;
};
template <>
struct DtypeOf<f16> {
  static constexpr fovea_dtype value = FOVEA_F16;
};
template <>
struct DtypeOf<bf16> {
  static constexpr fovea_dtype value = FOVEA_BF16;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr fovea_dtype value = FOVEA_I32;
};
template <>
struct DtypeOf<std::int8_t> {
  static constexpr fovea_dtype value = FOVEA_I8;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr fovea_dtype value = FOVEA_U8;
};
template <typename T>
struct DtypeOf<const T> : DtypeOf<T> {};

/// Logical extents, whatever the order in memory.
struct Shape {
  std::int64_t batch, heads, rows, features;
};

/// Distances in elements between neighbours along each axis.
struct Strides {
  std::int64_t batch, head, row, feature;
};

/// A view with any strides. Inputs may be const: the library writes to outputs only.
inline fovea_tensor tensor(const void* data, fovea_dtype dtype, const Shape& shape,
                           const Strides& strides) {
  fovea_tensor result = {};
  result.data = const_cast<void*>(data);
  result.dtype = dtype;
  const std::int64_t extents[4] = {shape.batch, shape.heads, shape.rows, shape.features};
  const std::int64_t steps[4] = {strides.batch, strides.head, strides.row, strides.feature};
  for (int axis = 0; axis < 4; ++axis) {
    result.extent[axis] = extents[axis];
    result.stride[axis] = steps[axis];
  }
  return result;
}

/// Strides of a dense [batch, head, row, feature] array.
inline Strides bhsd_strides(const Shape& shape) {
  return {shape.heads * shape.rows * shape.features, shape.rows * shape.features, shape.features,
          1};
}

/// Strides of a dense [batch, row, head, feature] array, the layout projections produce.
inline Strides bshd_strides(const Shape& shape) {
  return {shape.rows * shape.heads * shape.features, shape.features, shape.heads * shape.features,
          1};
}

template <typename T>
fovea_tensor tensor(T* data, const Shape& shape, const Strides& strides) {
  return tensor(data, DtypeOf<T>::value, shape, strides);
}

/// Dense [batch, head, row, feature].
template <typename T>
fovea_tensor tensor(T* data, const Shape& shape) {
  return tensor(data, shape, bhsd_strides(shape));
}

/// Dense [batch, row, head, feature]; the shape keeps its order batch, heads, rows, features.
template <typename T>
fovea_tensor tensor_bshd(T* data, const Shape& shape) {
  return tensor(data, shape, bshd_strides(shape));
}

/// Log-sum-exp, dense [batch, query head, query row] f32.
inline fovea_tensor lse_tensor(float* data, std::int64_t batch, std::int64_t heads,
                               std::int64_t rows) {
  return tensor(data, Shape{batch, heads, rows, 1});
}

/// The largest logit and the sum of weights, of the same shape.
inline fovea_tensor row_max_tensor(float* data, std::int64_t batch, std::int64_t heads,
                                   std::int64_t rows) {
  return lse_tensor(data, batch, heads, rows);
}
inline fovea_tensor row_sum_tensor(float* data, std::int64_t batch, std::int64_t heads,
                                   std::int64_t rows) {
  return lse_tensor(data, batch, heads, rows);
}

/// Normalised weights, dense [batch, query head, query row, key] f32.
inline fovea_tensor probabilities_tensor(float* data, std::int64_t batch, std::int64_t heads,
                                         std::int64_t rows, std::int64_t keys) {
  return tensor(data, Shape{batch, heads, rows, keys});
}

/// Tables of one to four axes in the order of their declaration, the last axis dense. Entries of
/// tables of bool are unsigned char (or bool where it has one byte). For other strides, broadcast
/// included, set stride[] of the result.
template <typename T>
fovea_table table(const T* data, std::int64_t n0) {
  return {data, {n0, 0, 0, 0}, {1, 0, 0, 0}};
}
template <typename T>
fovea_table table(const T* data, std::int64_t n0, std::int64_t n1) {
  return {data, {n0, n1, 0, 0}, {n1, 1, 0, 0}};
}
template <typename T>
fovea_table table(const T* data, std::int64_t n0, std::int64_t n1, std::int64_t n2) {
  return {data, {n0, n1, n2, 0}, {n1 * n2, n2, 1, 0}};
}
template <typename T>
fovea_table table(const T* data, std::int64_t n0, std::int64_t n1, std::int64_t n2,
                  std::int64_t n3) {
  return {data, {n0, n1, n2, n3}, {n1 * n2 * n3, n2 * n3, n3, 1}};
}

/// Result of a call. The message is this thread's last one: read it before the next call.
class [[nodiscard]] Status {
 public:
  Status(fovea_status code) : code_(code) {}  // NOLINT: every C function's result is one

  bool ok() const { return code_ == FOVEA_OK; }
  fovea_status code() const { return code_; }
  const char* name() const { return fovea_status_name(code_); }
  const char* message() const { return ok() ? "" : fovea_last_message(); }

 private:
  fovea_status code_;
};

/// The whole text of a generated …_explain function, which cuts it at a capacity, as a string of
/// the caller's kind:
///
///   const auto text = fovea::explain<std::string>(my_attention_causal_explain, call);
template <typename String>
String explain(fovea_status (*function)(const fovea_call*, char*, std::size_t),
               const fovea_call& call) {
  String text;
  do {  // cut at the capacity: asked again with more
    text.assign(2 * text.size() + 1024, '\0');
    function(&call, &text[0], text.size());
  } while (text.find('\0') + 1 == text.size());
  text.resize(text.find('\0'));
  return text;
}

/// How to run, every field at its default.
struct Exec : fovea_exec {
  Exec() : fovea_exec() { size = sizeof(fovea_exec); }
};

/// Combines parts of attention over disjoint sets of keys, see fovea_merge. The result may be one
/// of the parts.
///
///   const fovea_partial parts[] = {{out0, lse0}, {out1, lse1}};
///   fovea::Status status = fovea::merge(parts, {out, lse});
inline Status merge(const fovea_partial* parts, std::int64_t count, const fovea_partial& merged,
                    const fovea_exec* exec = nullptr) {
  return fovea_merge(parts, count, &merged, exec);
}
template <std::size_t N>
Status merge(const fovea_partial (&parts)[N], const fovea_partial& merged,
             const fovea_exec* exec = nullptr) {
  return merge(parts, static_cast<std::int64_t>(N), merged, exec);
}

/// A KV cache without pages, ring or scales; what it has of them are fields to set. Its memory is k
/// and v of the call or of the append.
struct Cache : fovea_cache {
  Cache() : fovea_cache() { size = sizeof(fovea_cache); }
};

/// A cache whose sequences are lists of pages, dense [batch, columns].
inline Cache paged_cache(const std::int32_t* block_table, std::int64_t columns) {
  Cache cache;
  cache.block_table = block_table;
  cache.block_table_columns = cache.block_table_stride = columns;
  return cache;
}

/// New tokens for a cache: k_new [B, Hkv, S, d_qk], v_new [B, Hkv, S, d_v], and the memory of the
/// cache as a call has it. Lengths, cache, ragged and exec are fields to set.
struct Append : fovea_append {
  Append() : fovea_append() { size = sizeof(fovea_append); }
  Append(const fovea_tensor& new_key, const fovea_tensor& new_value, const fovea_tensor& key,
         const fovea_tensor& value)
      : Append() {
    k_new = new_key;
    v_new = new_value;
    k = key;
    v = value;
  }
};

/// Sequences one after the other: cu_query and cu_key hold batch + 1 rows; cu_key NULL: the call
/// has a cache.
struct Ragged : fovea_ragged {
  Ragged() : fovea_ragged() { size = sizeof(fovea_ragged); }
  Ragged(std::int64_t sequences, const std::int32_t* cu_query, const std::int32_t* cu_key = nullptr)
      : Ragged() {
    batch = sequences;
    cu_q = cu_query;
    cu_k = cu_key;
  }
};

/// One attention call: q [B, Hq, Sq, d_qk], k [B, Hkv, Skv, d_qk], v [B, Hkv, Skv, d_v],
/// out [B, Hq, Sq, d_v]. Everything else (lse and other outputs, scale, lengths, workspace, exec)
/// is a field to set.
struct Call : fovea_call {
  Call() : fovea_call() { size = sizeof(fovea_call); }
  Call(const fovea_tensor& query, const fovea_tensor& key, const fovea_tensor& value,
       const fovea_tensor& output)
      : Call() {
    q = query;
    k = key;
    v = value;
    out = output;
  }
};

}  // namespace fovea
#endif
