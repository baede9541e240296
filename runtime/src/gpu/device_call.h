// A call on a device: its launches, and the copies that were asked for.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_CALL_H
#define FOVEA_GPU_DEVICE_CALL_H

#include "../run_call.h"

namespace fovea::detail {

// What a device asks of a call besides what every kernel does.
fovea_status check_device_call(const Problem& problem);

// Memory of the device that its kernels need besides the tensors. Where tensors are memory of the
// host, run_on_device takes it.
fovea_status plan_device_call(const Problem& problem, const PassKernels& kernels, size_t* bytes);

// Everything has been checked but whether tensors are memory of the device. Returns once everything
// is queued; with exec.host_tensors once it is done.
fovea_status run_on_device(const Problem& problem, const void* params, const PassKernels& kernels);

}  // namespace fovea::detail
#endif
