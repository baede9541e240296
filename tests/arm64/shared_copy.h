// shared_copy.h: structures of a call as the worker can read them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ARM64_SHARED_COPY_H
#define FOVEA_TESTS_ARM64_SHARED_COPY_H

#include <vector>

#include "shared_message.h"

namespace fovea::test {

// Copies structures, lists, strings, and tensors that are not in shared memory, into the message,
// one after the other; what is shared already stays where it is. Throws std::logic_error for what
// cannot be forwarded: allocators of the test, and more than fits.
class SharedCopy {
 public:
  SharedMessage& message();

  const fovea_call* call(const fovea_call* call);
  const fovea_append* append(const fovea_append* append);
  const void* params(const fovea_variant_info& variant, const void* params);
  const fovea_partial* parts(const fovea_partial* parts, int64_t count);
  const fovea_partial* merged(const fovea_partial* merged);
  const fovea_exec* exec(const fovea_exec* exec);
  const char* text(const char* text);
  void changes();
  // What the worker has written into copies of tensors.
  void copy_back() const;
  char* room(size_t bytes) { return static_cast<char*>(take_(bytes)); }

  // Of a worker that has just been started.
  bool everything = false;

 private:
  void* take_(size_t bytes);
  template <typename T>
  const T* list_(const T* list, int64_t count);
  template <typename T>
  T structure_(const T* from);
  template <typename T>
  const T* placed_(const T& structure, uint32_t size);
  const fovea_cache* cache_(const fovea_cache* cache, int64_t batch);
  const fovea_ragged* ragged_(const fovea_ragged* ragged);
  void table_(fovea_table& table, fovea_dtype dtype);
  const fovea_partial* parts_(const fovea_partial* parts, int64_t count, bool is_output);
  void tensor_(fovea_tensor& tensor, bool is_output);

  // Bytes of the test and where they are in shared memory; tensors may be one and the same.
  struct Copied {
    unsigned char *from, *to;
    size_t size;
    bool is_output;
  };
  std::vector<Copied> copied_;
  size_t used_ = sizeof(SharedMessage);
};

}  // namespace fovea::test

#endif
