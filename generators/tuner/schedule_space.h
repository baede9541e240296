// schedule_space.h: the schedules of a kernel that a search may try.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_SCHEDULE_SPACE_H
#define FOVEA_GENERATORS_TUNER_SCHEDULE_SPACE_H

#include <fovea/dsl/variant.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "generators/emit/kernel_spec.h"
#include "generators/schedules/kernel_schedule.h"

namespace fovea {

// One value for each parameter of a space, in its order.
using SpacePoint = std::vector<int>;

struct SpaceParameter {
  std::string name;
  std::string reason;  // why its values end where they do
  // What it may be after the earlier ones, rising; asked only with values that are allowed.
  std::function<std::vector<int>(const SpacePoint& earlier)> values;
};

// Points are generated parameter by parameter, each within a range that the earlier ones leave:
// every point is a schedule that may be compiled, and none is thrown away.
class ScheduleSpace {
 public:
  ScheduleSpace(std::vector<SpaceParameter> parameters, const KernelSchedule& usual);

  const std::vector<SpaceParameter>& parameters() const { return parameters_; }
  // All points, in order.
  const std::vector<SpacePoint>& points() const { return points_; }
  size_t size() const { return points_.size(); }
  bool contains(const SpacePoint& point) const;

  // The documented default.
  const SpacePoint& usual() const { return usual_; }
  // The point with parameter i set to `value`, and later ones moved to the nearest allowed values.
  SpacePoint changed(const SpacePoint& point, size_t i, int value) const;
  // What parameter i may be at this point.
  std::vector<int> values(size_t i, const SpacePoint& point) const;

  KernelSchedule schedule(const SpacePoint& point) const;
  // Throws std::invalid_argument: the schedule is not one of the space.
  SpacePoint point_of(const KernelSchedule& schedule) const;

 private:
  SpacePoint read_(const KernelSchedule& schedule) const;

  std::vector<SpaceParameter> parameters_;
  KernelSchedule default_;
  std::vector<SpacePoint> points_;
  SpacePoint usual_;
};

// Of a prefill or decode kernel. Throws std::invalid_argument for another pass, an unknown target
// or dtype.
ScheduleSpace schedule_space(const KernelSpec& spec, const Variant& variant);

}  // namespace fovea

#endif
