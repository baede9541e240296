// The text of this thread's last error, and bounded text in general.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_MESSAGE_H
#define FOVEA_MESSAGE_H

#include <fovea/fovea.h>

#if defined(__GNUC__)
#define FOVEA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define FOVEA_PRINTF(text, first)
#endif

namespace fovea::detail {

// Appends to memory of the caller; what does not fit is dropped, the result always ends in a zero.
class Text {
 public:
  Text(char* data, size_t capacity);
  void append(const char* format, ...) FOVEA_PRINTF(2, 3);  // `this` is argument 1
  size_t length() const { return length_; }                 // of the whole text, had it fitted

 private:
  char* data_;
  size_t capacity_;
  size_t length_ = 0;
};

void clear_message();
Text message_text();  // empty text over this thread's message

// Sets this thread's message and returns status.
fovea_status fail(fovea_status status, const char* format, ...) FOVEA_PRINTF(2, 3);

const char* dtype_name(fovea_dtype dtype);  // "f32", …; never NULL

// Bytes of what memory is counted in; 0 for a value outside the enumeration.
inline int64_t dtype_size(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
    case FOVEA_I32:
      return 4;
    case FOVEA_F16:
    case FOVEA_BF16:
      return 2;
    case FOVEA_I8:
    case FOVEA_U8:
    case FOVEA_I4:  // two of them
    case FOVEA_E4M3:
    case FOVEA_E5M2:
      return 1;
  }
  return 0;
}

}  // namespace fovea::detail
#endif
