// shared_copy.cpp: field by field. SPDX-License-Identifier: Apache-2.0
#include "shared_copy.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "shared_memory.h"

namespace fovea::test {
namespace {

// Of lists whose length a broken call states; what the runtime refuses it does not read.
constexpr int64_t most_entries = 1 << 20;

size_t known_size(uint32_t stated, size_t size) { return std::min<size_t>(stated, size); }

}  // namespace

SharedMessage& SharedCopy::message() { return *reinterpret_cast<SharedMessage*>(shared_begin); }

void* SharedCopy::take_(size_t bytes) {
  const size_t begin = (used_ + 63) / 64 * 64;
  if (begin + bytes > message_size) throw std::logic_error("a call is too large to be forwarded");
  used_ = begin + bytes;
  return reinterpret_cast<void*>(shared_begin + begin);
}

template <typename T>
const T* SharedCopy::list_(const T* list, int64_t count) {
  if (list == nullptr || SharedMemory::contains(list)) return list;
  const int64_t entries = count < 0 || count > most_entries ? 0 : count;
  const size_t bytes = static_cast<size_t>(entries) * sizeof(T);
  return static_cast<const T*>(std::memcpy(take_(bytes), list, bytes));
}

// With zeros for what a structure of an older version lacks.
template <typename T>
T SharedCopy::structure_(const T* from) {
  T structure = {};
  uint32_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  std::memcpy(&structure, from, std::max(sizeof(size), known_size(size, sizeof(T))));
  return structure;
}

template <typename T>
const T* SharedCopy::placed_(const T& structure, uint32_t size) {
  const size_t bytes = std::max(sizeof(size), known_size(size, sizeof(T)));
  return static_cast<const T*>(std::memcpy(take_(bytes), &structure, bytes));
}

const char* SharedCopy::text(const char* text) {
  return text == nullptr ? nullptr : list_(text, static_cast<int64_t>(std::strlen(text)) + 1);
}

const fovea_exec* SharedCopy::exec(const fovea_exec* exec) {
  if (exec == nullptr) return nullptr;
  fovea_exec copy = structure_(exec);
  if (copy.allocator != nullptr)
    throw std::logic_error("an allocator of a test cannot be called from the worker");
  const bool runs_items = copy.parallel_for != nullptr;
  copy.parallel_for = nullptr;
  copy.pool = nullptr;
  copy.target = text(copy.target);
  copy.pass = text(copy.pass);
  const fovea_exec* placed = placed_(copy, copy.size);
  if (runs_items) message().backwards = const_cast<fovea_exec*>(placed);
  return placed;
}

const fovea_ragged* SharedCopy::ragged_(const fovea_ragged* ragged) {
  if (ragged == nullptr) return nullptr;
  fovea_ragged copy = structure_(ragged);
  copy.cu_q = list_(copy.cu_q, copy.batch + 1);
  copy.cu_k = list_(copy.cu_k, copy.batch + 1);
  return placed_(copy, copy.size);
}

const fovea_cache* SharedCopy::cache_(const fovea_cache* cache, int64_t batch) {
  if (cache == nullptr) return nullptr;
  fovea_cache copy = structure_(cache);
  copy.block_table = list_(
      copy.block_table,
      batch < 1 ? 0 : (batch - 1) * std::abs(copy.block_table_stride) + copy.block_table_columns);
  return placed_(copy, copy.size);
}

const fovea_call* SharedCopy::call(const fovea_call* call) {
  if (call == nullptr) return nullptr;
  fovea_call copy = structure_(call);
  const int64_t batch = copy.ragged != nullptr ? copy.ragged->batch : copy.q.extent[0];
  for (fovea_tensor* input : {&copy.q, &copy.k, &copy.v}) tensor_(*input, false);
  for (fovea_tensor* output :
       {&copy.out, &copy.lse, &copy.row_max, &copy.row_sum, &copy.probabilities})
    tensor_(*output, true);
  copy.scale = list_(copy.scale, 1);
  copy.q_len = list_(copy.q_len, batch);
  copy.kv_len = list_(copy.kv_len, batch);
  copy.q_offset = list_(copy.q_offset, batch);
  copy.ragged = ragged_(copy.ragged);
  copy.cache = cache_(copy.cache, batch);
  copy.exec = exec(copy.exec);
  return placed_(copy, copy.size);
}

const fovea_append* SharedCopy::append(const fovea_append* append) {
  if (append == nullptr) return nullptr;
  fovea_append copy = structure_(append);
  const int64_t batch = copy.ragged != nullptr ? copy.ragged->batch : copy.k_new.extent[0];
  for (fovea_tensor* input : {&copy.k_new, &copy.v_new}) tensor_(*input, false);
  for (fovea_tensor* output : {&copy.k, &copy.v}) tensor_(*output, true);
  copy.new_len = list_(copy.new_len, batch);
  copy.kv_len = list_(copy.kv_len, batch);
  copy.ragged = ragged_(copy.ragged);
  copy.cache = cache_(copy.cache, batch);
  copy.exec = exec(copy.exec);
  return placed_(copy, copy.size);
}

const fovea_partial* SharedCopy::parts(const fovea_partial* parts, int64_t count) {
  return parts_(parts, count, false);
}

const fovea_partial* SharedCopy::merged(const fovea_partial* merged) {
  return parts_(merged, 1, true);
}

const fovea_partial* SharedCopy::parts_(const fovea_partial* parts, int64_t count, bool is_output) {
  auto* copies = const_cast<fovea_partial*>(list_(parts, count));
  for (int64_t i = 0; copies != nullptr && copies != parts && i < count; ++i) {
    tensor_(copies[i].out, is_output);
    tensor_(copies[i].lse, is_output);
  }
  return copies;
}

void SharedCopy::tensor_(fovea_tensor& tensor, bool is_output) {
  if (tensor.data == nullptr || SharedMemory::contains(tensor.data)) return;
  const int64_t size = tensor.dtype == FOVEA_F32 || tensor.dtype == FOVEA_I32    ? 4
                       : tensor.dtype == FOVEA_F16 || tensor.dtype == FOVEA_BF16 ? 2
                                                                                 : 1;
  int64_t first = 0, last = 0;
  for (int axis = 0; axis < 4; ++axis) {
    // Of a broken call, which the runtime refuses before it reads anything.
    if (tensor.extent[axis] < 1 || tensor.extent[axis] > most_entries ||
        std::abs(tensor.stride[axis]) > most_entries)
      return;
    const int64_t reach = tensor.stride[axis] * (tensor.extent[axis] - 1);
    (reach < 0 ? first : last) += reach;
  }
  auto* begin = static_cast<unsigned char*>(tensor.data) + first * size;
  const auto bytes = static_cast<size_t>((last - first + 1) * size);
  const auto known = std::find_if(copied_.begin(), copied_.end(), [&](const Copied& c) {
    return c.from == begin && c.size == bytes;
  });
  unsigned char* copy = nullptr;
  if (known != copied_.end()) {
    known->is_output = known->is_output || is_output;
    copy = known->to;
  } else {
    copy = static_cast<unsigned char*>(std::memcpy(take_(bytes), begin, bytes));
    copied_.push_back({begin, copy, bytes, is_output});
  }
  tensor.data = copy - first * size;
}

void SharedCopy::copy_back() const {
  for (const Copied& c : copied_) {
    if (c.is_output) std::memcpy(c.from, c.to, c.size);
  }
}

void SharedCopy::table_(fovea_table& table, fovea_dtype dtype) {
  if (table.data == nullptr || SharedMemory::contains(table.data)) return;
  const int64_t size = dtype == FOVEA_U8 ? 1 : 4;
  int64_t first = 0, last = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t reach = table.stride[axis] * std::max<int64_t>(table.extent[axis] - 1, 0);
    (reach < 0 ? first : last) += reach;
  }
  const char* data = static_cast<const char*>(table.data) + first * size;
  table.data = list_(data, (last - first + 1) * size) - first * size;
}

const void* SharedCopy::params(const fovea_variant_info& variant, const void* params) {
  if (params == nullptr) return nullptr;
  size_t bytes = 1;
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& info = variant.parameters[i];
    bytes = std::max(bytes, info.offset + (info.kind == FOVEA_TABLE ? sizeof(fovea_table) : 4));
  }
  auto* copy = static_cast<unsigned char*>(take_(bytes));
  std::memcpy(copy, params, bytes);
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& info = variant.parameters[i];
    if (info.kind != FOVEA_TABLE) continue;
    fovea_table table;
    std::memcpy(&table, copy + info.offset, sizeof(table));
    table_(table, info.dtype);
    std::memcpy(copy + info.offset, &table, sizeof(table));
  }
  return copy;
}

void SharedCopy::changes() {
  const std::vector<MemoryChange> all = SharedMemory::instance().take_changes(everything);
  message().changes = list_(all.data(), static_cast<int64_t>(all.size()));
  message().change_count = static_cast<int64_t>(all.size());
}

}  // namespace fovea::test
