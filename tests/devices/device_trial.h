// device_trial.h: a kernel for OpenCL in a call of example tensors of the host.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_DEVICES_DEVICE_TRIAL_H
#define FOVEA_TESTS_DEVICES_DEVICE_TRIAL_H

#include <fovea/dsl/kernel_trial.h>

#include <cstdint>
#include <string>

#include "tests/devices/opencl_kernels.h"

namespace fovea::test {

struct Heads {
  int64_t sequences, queries, keys;
};

// The call's result against the declaration.
inline KernelTrial::Report try_on_device(const Case& c, const Heads& heads, int64_t rows,
                                         int64_t keys) {
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  exec.pass = c.info().pass == FOVEA_DECODE ? "decode" : "prefill";
  const auto run = [&](const fovea_call* call, const void* params) -> std::string {
    const fovea_status status = fovea_variant_run(c.library, c.info().variant, call, params);
    return status == FOVEA_OK ? "" : fovea_last_message();
  };
  const ExampleShape shape = {.batch = heads.sequences,
                              .heads = heads.queries,
                              .kv_heads = heads.keys,
                              .q_len = rows,
                              .kv_len = keys,
                              .d_qk = c.info().d_qk,
                              .d_v = c.info().d_v};
  KernelTrial trial(declaration_of(c), shape, run, c.info().dtype);
  trial.call().exec = &exec;
  return trial.check();
}

}  // namespace fovea::test

#endif
