// Decode on a device: a launch that makes records of chunks of keys, and one that merges them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_DECODE_H
#define FOVEA_GPU_DEVICE_DECODE_H

#include "device_work.h"

namespace fovea::detail {

// Bytes of the records of the run that needs the most, whatever the lengths of its sequences are
// (but of ragged batches).
fovea_status plan_device_decode(const Problem& problem, const fovea_kernel_info& kernel,
                                size_t* bytes);

// Queues a run.
fovea_status launch_decode(DeviceWork* work, const Run& run);

}  // namespace fovea::detail
#endif
