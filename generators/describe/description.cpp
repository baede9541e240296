// description.cpp: a variant with its example values, mask and tiles.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/description.h"

#include <fmt/format.h>

#include <algorithm>

#include "generators/describe/bound_parameters.h"
#include "generators/schedules/prefill_cpu.h"
#include "generators/schedules/prefill_gpu.h"

namespace fovea {
namespace {

ParameterValues values_of(const ExampleParameters& example, const ScalarValues& scalars) {
  ParameterValues values = example.values();
  for (const auto& [name, value] : scalars) values.at(name).scalar = value;
  return values;
}

constexpr int64_t most_shown_entries = 4;

std::string number_text(const Parameter& p, double x) {
  return p.type.is_float() ? fmt::format("{:.4g}", x) : fmt::format("{}", static_cast<int64_t>(x));
}

// A table of several axes is shown along its last one.
std::string table_text(const Parameter& p, const fovea_table& table) {
  const auto last = p.axes.size() - 1;
  std::string text;
  for (int64_t i = 0; i < std::min(table.extent[last], most_shown_entries); ++i) {
    const int64_t at = i * table.stride[last];
    double x = 0;
    if (p.type.is_float()) {
      x = static_cast<const float*>(table.data)[at];
    } else if (p.type == Halide::UInt(8)) {
      x = static_cast<const uint8_t*>(table.data)[at];
    } else {
      x = static_cast<const int32_t*>(table.data)[at];
    }
    text += (text.empty() ? "" : ", ") + number_text(p, x);
  }
  return table.extent[last] > most_shown_entries ? text + ", …" : text;
}

std::vector<DescribedParameter> described(const Variant& variant, const ParameterValues& values) {
  std::vector<DescribedParameter> result;
  for (const auto& p : variant.parameters()) {
    const ParameterValue& value = values.at(p->name);
    result.push_back({p.get(), p->kind == Parameter::Kind::Scalar ? number_text(*p, value.scalar)
                                                                  : table_text(*p, value.table)});
  }
  return result;
}

}  // namespace

MaskGrid example_mask_grid(const Variant& variant, const PictureSetting& picture,
                           int64_t most_cells) {
  const ExampleParameters example(variant, picture.shape);
  return mask_grid(variant, values_of(example, picture.scalars), picture.shape, most_cells);
}

Description describe(const Variant& variant, const TargetRow& target, const PictureSetting& picture,
                     const ExampleShape& shape, const ScalarValues& scalars, int64_t most_cells) {
  Description d;
  d.variant = &variant;
  d.target = &target;
  d.picture = picture;
  d.shape = shape;
  d.has_mask = !Halide::Internal::is_const_one(variant.mask());
  d.grid = example_mask_grid(variant, picture, most_cells);

  const ExampleParameters example(variant, shape);
  const ParameterValues values = values_of(example, scalars);
  d.parameters = described(variant, values);
  const int d_qk = static_cast<int>(shape.d_qk), d_v = static_cast<int>(shape.d_v);
  if (target.is_device()) {
    const PrefillGpuSchedule schedule =
        default_prefill_gpu_schedule(variant, d_qk, d_v, CacheKind::None);
    d.status = tile_status(variant, schedule.block_rows(), schedule.key_block());
  } else {
    const PrefillCpuSchedule schedule =
        default_prefill_schedule(target, variant, Element::F32, d_qk, d_v);
    d.status = tile_status(variant, schedule.block_rows(), schedule.key_block);
  }
  d.counts = count_tiles(variant, d.status, values, shape);
  return d;
}

}  // namespace fovea
