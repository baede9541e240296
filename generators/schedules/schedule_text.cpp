// schedule_text.cpp: the parameters of the CPU schedules by name.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>

#include "generators/schedules/append_cpu.h"
#include "generators/schedules/append_gpu.h"
#include "generators/schedules/decode_cpu.h"
#include "generators/schedules/decode_gpu.h"
#include "generators/schedules/prefill_cpu.h"
#include "generators/schedules/prefill_gpu.h"

namespace fovea {
namespace {

// A number, or a choice that is written as 0 or 1.
template <typename Schedule>
struct Field {
  const char* name;
  int Schedule::* number;
  bool Schedule::* choice = nullptr;
};

constexpr Field<PrefillCpuSchedule> prefill_fields[] = {
    {"lanes", &PrefillCpuSchedule::lanes},
    {"row_vectors", &PrefillCpuSchedule::row_vectors},
    {"row_tiles", &PrefillCpuSchedule::row_tiles},
    {"key_tile", &PrefillCpuSchedule::key_tile},
    {"feature_group", &PrefillCpuSchedule::feature_group},
    {"key_block", &PrefillCpuSchedule::key_block},
    {"feature_unroll", &PrefillCpuSchedule::feature_unroll},
    {"key_unroll", &PrefillCpuSchedule::key_unroll},
    {"tail_bodies", &PrefillCpuSchedule::tail_bodies},
    {"dot_pairs", nullptr, &PrefillCpuSchedule::dot_pairs},
};

constexpr Field<DecodeCpuSchedule> decode_fields[] = {
    {"lanes", &DecodeCpuSchedule::lanes},
    {"wide_rows", &DecodeCpuSchedule::wide_rows},
    {"widest_rows", &DecodeCpuSchedule::widest_rows},
    {"key_block", &DecodeCpuSchedule::key_block},
    {"chunk_blocks", &DecodeCpuSchedule::chunk_blocks},
    {"key_streams", &DecodeCpuSchedule::key_streams},
    {"prefetch_blocks", &DecodeCpuSchedule::prefetch_blocks},
    {"product_features", &DecodeCpuSchedule::product_features},
    {"value_vectors", &DecodeCpuSchedule::value_vectors},
    {"feature_unroll", &DecodeCpuSchedule::feature_unroll},
    {"dot_pairs", nullptr, &DecodeCpuSchedule::dot_pairs},
};

constexpr Field<AppendCpuSchedule> append_fields[] = {
    {"lanes", &AppendCpuSchedule::lanes},
    {"block_rows", &AppendCpuSchedule::block_rows},
};

constexpr Field<PrefillGpuSchedule> prefill_gpu_fields[] = {
    {"row_threads", &PrefillGpuSchedule::row_threads},
    {"row_tile", &PrefillGpuSchedule::row_tile},
    {"key_threads", &PrefillGpuSchedule::key_threads},
    {"key_tile", &PrefillGpuSchedule::key_tile},
    {"feature_group", &PrefillGpuSchedule::feature_group},
    {"stage_keys", nullptr, &PrefillGpuSchedule::stage_keys},
    {"stage_values", nullptr, &PrefillGpuSchedule::stage_values},
    {"wide_reads", nullptr, &PrefillGpuSchedule::wide_reads},
};

constexpr Field<DecodeGpuSchedule> decode_gpu_fields[] = {
    {"row_threads", &DecodeGpuSchedule::row_threads},
    {"row_tile", &DecodeGpuSchedule::row_tile},
    {"key_threads", &DecodeGpuSchedule::key_threads},
    {"key_tile", &DecodeGpuSchedule::key_tile},
    {"feature_group", &DecodeGpuSchedule::feature_group},
    {"stage_keys", nullptr, &DecodeGpuSchedule::stage_keys},
    {"stage_values", nullptr, &DecodeGpuSchedule::stage_values},
    {"wide_reads", nullptr, &DecodeGpuSchedule::wide_reads},
    {"chunk_blocks", &DecodeGpuSchedule::chunk_blocks},
};

constexpr Field<AppendGpuSchedule> append_gpu_fields[] = {
    {"threads", &AppendGpuSchedule::threads},
};

template <typename Schedule>
std::string text_of(const Schedule& schedule, std::span<const Field<Schedule>> fields) {
  std::string out;
  for (const Field<Schedule>& f : fields)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", f.name,
                       f.number ? schedule.*f.number : static_cast<int>(schedule.*f.choice));
  return out;
}

template <typename Schedule>
Schedule changed_by(Schedule changed, std::span<const Field<Schedule>> fields,
                    const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const Field<Schedule>* field = nullptr;
    std::string names;
    for (const Field<Schedule>& f : fields) {
      if (name == f.name) field = &f;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
    }
    if (!field) {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}' is not a parameter; allowed are {}", text, name, names));
    }
    int value = 0;
    const char* first = word.data() + std::min(equals + 1, word.size());
    const char* last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(first, last, value);
    if (first == last || error != std::errc() || stop != last) {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}' is not {}=NUMBER", text, word, name));
    }
    if (field->number) {
      changed.*(field->number) = value;
    } else if (value == 0 || value == 1) {
      changed.*(field->choice) = value == 1;
    } else {
      throw std::invalid_argument(
          fmt::format("schedule '{}': '{}': allowed is 0 or 1", text, word));
    }
  }
  return changed;
}

}  // namespace

std::string PrefillCpuSchedule::text() const {
  return text_of<PrefillCpuSchedule>(*this, prefill_fields);
}

PrefillCpuSchedule PrefillCpuSchedule::with(const std::string& text) const {
  return changed_by<PrefillCpuSchedule>(*this, prefill_fields, text);
}

std::string DecodeCpuSchedule::text() const {
  return text_of<DecodeCpuSchedule>(*this, decode_fields);
}

DecodeCpuSchedule DecodeCpuSchedule::with(const std::string& text) const {
  return changed_by<DecodeCpuSchedule>(*this, decode_fields, text);
}

std::string AppendCpuSchedule::text() const {
  return text_of<AppendCpuSchedule>(*this, append_fields);
}

AppendCpuSchedule AppendCpuSchedule::with(const std::string& text) const {
  return changed_by<AppendCpuSchedule>(*this, append_fields, text);
}

std::string PrefillGpuSchedule::text() const {
  return text_of<PrefillGpuSchedule>(*this, prefill_gpu_fields);
}

PrefillGpuSchedule PrefillGpuSchedule::with(const std::string& text) const {
  return changed_by<PrefillGpuSchedule>(*this, prefill_gpu_fields, text);
}

std::string DecodeGpuSchedule::text() const {
  return text_of<DecodeGpuSchedule>(*this, decode_gpu_fields);
}

DecodeGpuSchedule DecodeGpuSchedule::with(const std::string& text) const {
  return changed_by<DecodeGpuSchedule>(*this, decode_gpu_fields, text);
}

std::string AppendGpuSchedule::text() const {
  return text_of<AppendGpuSchedule>(*this, append_gpu_fields);
}

AppendGpuSchedule AppendGpuSchedule::with(const std::string& text) const {
  return changed_by<AppendGpuSchedule>(*this, append_gpu_fields, text);
}

}  // namespace fovea
