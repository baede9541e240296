// An append to a cache in memory of a device. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_APPEND_H
#define FOVEA_GPU_DEVICE_APPEND_H

#include "../append.h"

namespace fovea::detail {

// What a device asks of an append besides what every kernel does.
fovea_status check_device_append(const Append& append);

// Returns once everything is queued; with exec.host_tensors once it is done.
fovea_status append_on_device(const Append& append, const fovea_kernel_info& kernel,
                              const void* params);

}  // namespace fovea::detail
#endif
