// schedule_space.cpp: points from the ranges of parameters.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/schedule_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace fovea {
namespace {

void add_points(const std::vector<SpaceParameter>& parameters, SpacePoint& begun,
                std::vector<SpacePoint>& points) {
  if (begun.size() == parameters.size()) {
    points.push_back(begun);
    return;
  }
  for (const int value : parameters[begun.size()].values(begun)) {
    begun.push_back(value);
    add_points(parameters, begun, points);
    begun.pop_back();
  }
}

int nearest(const std::vector<int>& values, int wanted) {
  return *std::min_element(values.begin(), values.end(), [&](int a, int b) {
    return std::abs(a - wanted) < std::abs(b - wanted);
  });
}

}  // namespace

ScheduleSpace::ScheduleSpace(std::vector<SpaceParameter> parameters, const KernelSchedule& usual)
    : parameters_(std::move(parameters)), default_(usual) {
  SpacePoint begun;
  add_points(parameters_, begun, points_);
  usual_ = point_of(usual);
}

bool ScheduleSpace::contains(const SpacePoint& point) const {
  return std::binary_search(points_.begin(), points_.end(), point);
}

std::vector<int> ScheduleSpace::values(size_t i, const SpacePoint& point) const {
  return parameters_[i].values({point.begin(), point.begin() + static_cast<std::ptrdiff_t>(i)});
}

SpacePoint ScheduleSpace::changed(const SpacePoint& point, size_t i, int value) const {
  SpacePoint moved(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(i));
  moved.push_back(value);
  while (moved.size() < point.size())
    moved.push_back(nearest(parameters_[moved.size()].values(moved), point[moved.size()]));
  return moved;
}

KernelSchedule ScheduleSpace::schedule(const SpacePoint& point) const {
  std::string text;
  for (size_t i = 0; i < parameters_.size(); ++i)
    text += fmt::format("{}={} ", parameters_[i].name, point[i]);
  return std::visit([&](const auto& s) -> KernelSchedule { return s.with(text); }, default_);
}

SpacePoint ScheduleSpace::read_(const KernelSchedule& schedule) const {
  const std::string text = " " + text_of(schedule);
  SpacePoint point;
  for (const SpaceParameter& p : parameters_) {
    const std::string name = " " + p.name + "=";
    const size_t at = text.find(name);
    int value = 0;
    if (at == std::string::npos ||
        std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value).ec !=
            std::errc())
      throw std::invalid_argument(
          fmt::format("schedule '{}': it has no {}", text_of(schedule), p.name));
    point.push_back(value);
  }
  return point;
}

SpacePoint ScheduleSpace::point_of(const KernelSchedule& schedule) const {
  const SpacePoint point = read_(schedule);
  if (contains(point) && text_of(this->schedule(point)) == text_of(schedule)) return point;
  for (size_t i = 0; i < point.size(); ++i) {
    const std::vector<int> allowed = values(i, point);
    if (std::find(allowed.begin(), allowed.end(), point[i]) != allowed.end()) continue;
    throw std::invalid_argument(fmt::format("schedule '{}': {} is outside of what is searched: {}",
                                            text_of(schedule), parameters_[i].name,
                                            parameters_[i].reason));
  }
  throw std::invalid_argument(
      fmt::format("schedule '{}': it is not one of those that are searched", text_of(schedule)));
}

}  // namespace fovea
