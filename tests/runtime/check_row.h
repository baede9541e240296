// One check on a call: a row breaks it, and must see its status, a message with the field, and
// nothing written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "fake_library.h"

namespace fovea::test {

struct CheckRow {
  std::string name;
  Variant variant;
  std::function<void(Attention&)> spoil;
  fovea_status status;
  std::vector<std::string> says;  // parts of the message: field, value, what is allowed
};

inline void PrintTo(const CheckRow& row, std::ostream* out) { *out << row.name; }

void expect_refused(const CheckRow& row);

template <typename T>
T* at_address(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace fovea::test
