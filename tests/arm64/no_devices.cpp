// no_devices.cpp: the runtime's drivers of devices, for programs whose calls are computed by an
// emulated CPU: there are none. SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "runtime/src/gpu/device.h"

namespace fovea::detail {
namespace {

void describe_none(void*, const void*, DeviceFacts* facts) {
  *facts = {};
  std::snprintf(facts->text, sizeof(facts->text), "devices are not tested under an emulator");
}

const DeviceDriver& none() {
  static const DeviceDriver driver = [] {
    DeviceDriver d = {};
    d.describe = describe_none;
    return d;
  }();
  return driver;
}

}  // namespace

const DeviceDriver& cuda_driver() { return none(); }
const DeviceDriver& opencl_driver() { return none(); }

}  // namespace fovea::detail
