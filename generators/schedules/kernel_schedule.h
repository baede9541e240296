// kernel_schedule.h: the schedule of a kernel of any pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_KERNEL_SCHEDULE_H
#define FOVEA_GENERATORS_SCHEDULES_KERNEL_SCHEDULE_H

#include <string>
#include <variant>

#include "generators/schedules/append_cpu.h"
#include "generators/schedules/append_gpu.h"
#include "generators/schedules/decode_cpu.h"
#include "generators/schedules/decode_gpu.h"
#include "generators/schedules/prefill_cpu.h"
#include "generators/schedules/prefill_gpu.h"

namespace fovea {

using KernelSchedule = std::variant<PrefillCpuSchedule, DecodeCpuSchedule, AppendCpuSchedule,
                                    PrefillGpuSchedule, DecodeGpuSchedule, AppendGpuSchedule>;

inline std::string text_of(const KernelSchedule& schedule) {
  return std::visit([](const auto& s) { return s.text(); }, schedule);
}

}  // namespace fovea

#endif
