// sample_record.h: a record as a search would write it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_TUNER_SAMPLE_RECORD_H
#define FOVEA_TESTS_TUNER_SAMPLE_RECORD_H

#include <string>

#include "generators/database/tuning_record.h"
#include "generators/emit/library_spec.h"

namespace fovea {

inline KernelSpec sample_spec() { return {"prefill", "plain", "f32", 64, 64, "x86-avx2"}; }

// Of a variant without steps, named "plain".
inline TuningRecord sample_record(const std::string& schedule = "key_tile=2",
                                  double speedup = 1.1) {
  const KernelSpec spec = sample_spec();
  const Variant variant("plain");
  const TargetRow& target = *find_target(spec.target);
  const PrefillCpuSchedule usual =
      default_prefill_schedule(target, variant, Element::F32, spec.d_qk, spec.d_v);
  TuningRecord r;
  r.kernel = kernel_name(spec);
  r.variant_hash = hash_text(variant.hash());
  r.target = target.halide;
  r.workload = {"any", {"b=1,hq=1,hkv=1,sq=9,skv=9,d=64"}, "", 1};
  r.environment = {"amd-zen4", "AMD EPYC", "sse41 avx", "21.0.0", "0.1.0", "0123456789abcdef"};
  r.schedule = usual.with(schedule).text();
  r.incumbent = usual.text();
  r.effort = Effort::Final;
  r.max_abs_error = 1e-7, r.error_bound = 1e-6;
  r.timings = {{r.workload.shapes[0], {0.5, 0.25, 1}, {0.75, 0.5, 2}}};
  r.speedup = speedup;
  r.date = "2026-01-31";
  return r;
}

}  // namespace fovea

#endif
