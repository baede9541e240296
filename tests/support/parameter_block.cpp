// SPDX-License-Identifier: Apache-2.0
#include "parameter_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace fovea::test {
namespace {

int64_t query_positions(const CallSetup& setup) {
  int64_t end = 1;
  for (int64_t b = 0; b < setup.batch; ++b) {
    end = std::max(end, setup.q_offset_of(b) + setup.q_len_of(b));
  }
  return end;
}

int64_t draw_extent(const fovea_parameter_info& info, int32_t axis, const TestKernel& kernel,
                    const CallSetup& setup, Random& random) {
  const int64_t extra = random.chance(0.5) ? 0 : random.integer(1, 3);
  switch (info.axes[axis]) {
    case FOVEA_AXIS_FIXED:
      return info.fixed_extent[axis];
    case FOVEA_AXIS_BATCH:
      return setup.batch;
    case FOVEA_AXIS_HEAD:
      return setup.heads;
    case FOVEA_AXIS_KV_HEAD:
      return setup.kv_heads;
    case FOVEA_AXIS_QUERY:
      return query_positions(setup) + extra;
    case FOVEA_AXIS_KEY:
      return setup.kv_rows + extra;
    case FOVEA_AXIS_POSITION:
      return std::max(query_positions(setup), setup.kv_rows) + extra;
    case FOVEA_AXIS_ROW:
      return setup.q_rows;
    case FOVEA_AXIS_FEATURE:
      return kernel.info().d_qk;
    case FOVEA_AXIS_VALUE_FEATURE:
      return kernel.info().d_v;
    case FOVEA_AXIS_ANY:
      break;
  }
  return random.integer(1, 40);
}

struct IntegerRange {
  int64_t first, last;
  explicit IntegerRange(const fovea_parameter_info& info)
      : first(static_cast<int64_t>(std::max(info.minimum, -0x1p30)) +
              (info.exclusive_minimum != 0 ? 1 : 0)),
        last(static_cast<int64_t>(std::min(info.maximum, 0x1p30))) {}
};

int64_t entry_size(const fovea_parameter_info& info) { return info.dtype == FOVEA_U8 ? 1 : 4; }

// Flags as often as lengths; a true bool is any byte but 0.
double draw_entry(const fovea_parameter_info& info, int64_t largest, Random& random) {
  switch (info.dtype) {
    case FOVEA_I32:
      return static_cast<double>(random.integer(0, largest));
    case FOVEA_U8:
      return static_cast<double>(random.chance(0.5)   ? 0
                                 : random.chance(0.5) ? 1
                                                      : random.integer(1, 255));
    default:
      return random.real(-1, 1);
  }
}

void write_entry(unsigned char* at, fovea_dtype dtype, double value) {
  if (dtype == FOVEA_U8) {
    *at = static_cast<unsigned char>(value);
  } else if (dtype == FOVEA_I32) {
    const auto entry = static_cast<int32_t>(value);
    std::memcpy(at, &entry, sizeof(entry));
  } else {
    const auto entry = static_cast<float>(value);
    std::memcpy(at, &entry, sizeof(entry));
  }
}

}  // namespace

ParameterBlock::ParameterBlock(const TestKernel& kernel, const CallSetup& setup, Random& random)
    : kernel_(kernel), variant_(&kernel.variant()), bytes_(8) {
  const fovea_variant_info& variant = *variant_;
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& info = variant.parameters[i];
    const size_t size = info.kind == FOVEA_TABLE ? sizeof(fovea_table) : 4;
    bytes_.resize(std::max(bytes_.size(), info.offset + size));
  }
  for (int32_t i = 0; i < variant.parameter_count; ++i) {
    const fovea_parameter_info& info = variant.parameters[i];
    if (info.kind == FOVEA_TABLE) {
      draw_table_(info, setup, random);
    } else {
      draw_scalar_(info, setup, random);
    }
  }
}

void ParameterBlock::draw_scalar_(const fovea_parameter_info& info, const CallSetup& setup,
                                  Random& random) {
  if (info.dtype == FOVEA_F32) {
    const double low = std::max(info.minimum, -2.0);
    const double high = std::min(info.maximum, low + random.pick({1.0, 4.0, 40.0}));
    write_scalar_(info, random.real(info.exclusive_minimum != 0 ? low + 0.01 : low, high));
    return;
  }
  // Small numbers, numbers about the lengths, and now and then the ends of the range.
  const auto [minimum, maximum] = IntegerRange(info);
  const int64_t low = std::max<int64_t>(minimum, -20);
  const int64_t high = std::min<int64_t>(maximum, low + random.pick<int64_t>({2, 8, 70, 300}));
  int64_t value = random.integer(low, std::max(low, high));
  if (random.chance(0.05)) value = minimum;
  if (random.chance(0.05)) value = maximum;
  if (random.chance(0.05)) value = std::clamp(setup.kv_rows, minimum, maximum);
  write_scalar_(info, static_cast<double>(value));
}

void ParameterBlock::draw_table_(const fovea_parameter_info& info, const CallSetup& setup,
                                 Random& random) {
  fovea_table table = {};
  int64_t elements = 1, last = 0, first = 0;
  for (int32_t axis = info.rank - 1; axis >= 0; --axis) {
    const int64_t extent = draw_extent(info, axis, kernel_, setup, random);
    const int64_t step = elements + (random.chance(0.2) ? random.integer(1, 5) : 0);
    // Tables of devices have no negative strides.
    const bool shared = random.chance(0.05), reversed = random.chance(0.1) && !kernel_.on_device();
    table.extent[axis] = extent;
    table.stride[axis] = shared ? 0 : reversed ? -step : step;
    if (shared) continue;
    last += (extent - 1) * step;
    if (reversed) first += (extent - 1) * step;
    elements = step * std::max<int64_t>(extent, 1);
  }
  bool is_empty = false;
  for (int32_t axis = 0; axis < info.rank; ++axis) is_empty = is_empty || table.extent[axis] == 0;
  if (is_empty) last = -1, first = 0;
  const int64_t size = entry_size(info);
  auto memory = std::make_shared<GuardedMemory>(static_cast<size_t>((last + 1) * size),
                                                random.chance(0.3) ? Edge::Start : Edge::End);
  // Gaps hold numbers as well, which no index reaches.
  const int64_t largest = random.chance(0.4) ? 1 : setup.kv_rows + 2;
  for (int64_t i = 0; i <= last; ++i) {
    write_entry(memory->data() + i * size, info.dtype, draw_entry(info, largest, random));
  }
  table.data = memory->data() + first * size;
  std::memcpy(&bytes_[info.offset], &table, sizeof(table));
  tables_[info.name] = std::move(memory);
}

const fovea_parameter_info& ParameterBlock::find_(const std::string& name) const {
  for (int32_t i = 0; i < variant_->parameter_count; ++i) {
    if (variant_->parameters[i].name == name) return variant_->parameters[i];
  }
  throw std::logic_error(std::string(variant_->name) + " has no parameter " + name);
}

void ParameterBlock::write_scalar_(const fovea_parameter_info& info, double value) {
  write_entry(&bytes_[info.offset], info.dtype, value);
}

void ParameterBlock::set(const std::string& name, double value) {
  write_scalar_(find_(name), value);
}

void ParameterBlock::set_scalars_to_an_end(Random& random) {
  for (int32_t i = 0; i < variant_->parameter_count; ++i) {
    const fovea_parameter_info& info = variant_->parameters[i];
    if (info.kind != FOVEA_SCALAR || info.dtype != FOVEA_I32) continue;
    const IntegerRange range(info);
    write_scalar_(info, static_cast<double>(random.chance(0.5) ? range.first : range.last));
  }
}

void ParameterBlock::set_table(const std::string& name, const std::vector<int64_t>& extent,
                               const std::vector<double>& entries) {
  const fovea_parameter_info& info = find_(name);
  fovea_table table = {};
  int64_t step = 1;
  for (int32_t axis = info.rank - 1; axis >= 0; --axis) {
    table.extent[axis] = extent.at(static_cast<size_t>(axis));
    table.stride[axis] = step;
    step *= table.extent[axis];
  }
  const auto size = static_cast<size_t>(entry_size(info));
  auto memory = std::make_shared<GuardedMemory>(entries.size() * size, Edge::End);
  for (size_t i = 0; i < entries.size(); ++i) {
    write_entry(memory->data() + i * size, info.dtype, entries[i]);
  }
  table.data = memory->data();
  std::memcpy(&bytes_[info.offset], &table, sizeof(table));
  tables_[name] = std::move(memory);
}

std::string ParameterBlock::text() const {
  std::string text;
  for (int32_t i = 0; i < variant_->parameter_count; ++i) {
    const fovea_parameter_info& info = variant_->parameters[i];
    if (info.kind == FOVEA_TABLE) {
      fovea_table table;
      std::memcpy(&table, &bytes_[info.offset], sizeof(table));
      text += " " + std::string(info.name) + "[";
      for (int32_t axis = 0; axis < info.rank; ++axis) {
        text += std::to_string(table.extent[axis]) + ":" + std::to_string(table.stride[axis]) +
                (axis + 1 < info.rank ? "," : "]");
      }
    } else if (info.dtype == FOVEA_I32) {
      int32_t value = 0;
      std::memcpy(&value, &bytes_[info.offset], sizeof(value));
      text += " " + std::string(info.name) + "=" + std::to_string(value);
    } else {
      float value = 0;
      std::memcpy(&value, &bytes_[info.offset], sizeof(value));
      text += " " + std::string(info.name) + "=" + std::to_string(value);
    }
  }
  return text;
}

}  // namespace fovea::test
