// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

namespace fovea::detail {
namespace {

constexpr size_t kMessageCapacity = 1024;
// Zero-initialised and trivially destructible: usable from the first instruction of a thread to its
// last.
thread_local char message[kMessageCapacity];

}  // namespace

Text::Text(char* data, size_t capacity) : data_(data), capacity_(data != nullptr ? capacity : 0) {
  if (capacity_ > 0) data_[0] = '\0';
}

void Text::append(const char* format, ...) {
  const size_t used = length_ < capacity_ ? length_ : capacity_;
  va_list arguments;
  va_start(arguments, format);
  const int added =
      vsnprintf(used < capacity_ ? data_ + used : nullptr, capacity_ - used, format, arguments);
  va_end(arguments);
  if (added > 0) length_ += static_cast<size_t>(added);
}

void clear_message() { message[0] = '\0'; }

Text message_text() { return Text(message, kMessageCapacity); }

fovea_status fail(fovea_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, kMessageCapacity, format, arguments);
  va_end(arguments);
  return status;
}

const char* dtype_name(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return "f32";
    case FOVEA_F16:
      return "f16";
    case FOVEA_BF16:
      return "bf16";
    case FOVEA_I32:
      return "i32";
    case FOVEA_I8:
      return "i8";
    case FOVEA_U8:
      return "u8";
    case FOVEA_I4:
      return "i4";
    case FOVEA_E4M3:
      return "e4m3";
    case FOVEA_E5M2:
      return "e5m2";
  }
  return "unknown";
}

}  // namespace fovea::detail

extern "C" const char* fovea_last_message(void) { return fovea::detail::message; }

extern "C" const char* fovea_status_name(fovea_status status) {
  switch (status) {
    case FOVEA_OK:
      return "ok";
    case FOVEA_INVALID_ARGUMENT:
      return "invalid argument";
    case FOVEA_UNSUPPORTED:
      return "unsupported";
    case FOVEA_WORKSPACE_TOO_SMALL:
      return "workspace too small";
    case FOVEA_OUT_OF_MEMORY:
      return "out of memory";
    case FOVEA_KERNEL_FAILED:
      return "kernel failed";
  }
  return "unknown status";
}
