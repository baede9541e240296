// gpu.cpp: the part that docs/gpu.md shows: a call with tensors of the host, computed by an OpenCL
// device, compared with the CPU. SPDX-License-Identifier: Apache-2.0
#include <fovea_device_kinds.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr fovea::Shape shape = {1, 2, 100, 64};

fovea::Status attend(const std::vector<float>& rows, std::vector<float>& out, bool on_device) {
  fovea::Exec exec;
  if (on_device) {
    exec.device = FOVEA_DEVICE_OPENCL;
    exec.host_tensors = 1;  // copy in, compute, copy out, wait
  }
  fovea::Call call(fovea::tensor(rows.data(), shape), fovea::tensor(rows.data(), shape),
                   fovea::tensor(rows.data(), shape), fovea::tensor(out.data(), shape));
  call.exec = &exec;
  return fovea_device_kinds::causal::run(call);
}

// Few rows in memory of the device. Compiled only: that memory comes from the device's own
// interface.
[[maybe_unused]] fovea_status attend_on_stream(fovea_call call, void* stream,
                                               void* (*take)(size_t)) {
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.stream = stream;
  call.exec = &exec;
  // `take` gives memory of the device: a pointer of CUDA, a cl_mem.
  call.workspace_size = fovea_device_kinds_causal_workspace(&call);
  call.workspace = take(call.workspace_size);
  return fovea_device_kinds_causal(&call, nullptr);
}

}  // namespace

int main() {
  std::vector<float> rows(2 * 100 * 64), on_cpu(rows.size()), on_device(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i));
  if (const fovea::Status status = attend(rows, on_cpu, false); !status.ok()) {
    std::printf("%s\n", status.message());
    return 1;
  }
  if (const fovea::Status status = attend(rows, on_device, true); !status.ok()) {
    // A machine without a driver says so; everything else is an error.
    std::printf("%s\n", status.message());
    return status.code() == FOVEA_UNSUPPORTED && std::strstr(status.message(), "driver") ? 0 : 1;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!(std::abs(on_cpu[i] - on_device[i]) < 1e-5f)) return 1;
  }
  return 0;
}
