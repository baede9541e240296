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
int64_t dtype_size(fovea_dtype dtype);      // bytes; 0 for a value outside the enumeration

}  // namespace fovea::detail
#endif
