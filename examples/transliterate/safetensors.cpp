// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transliterate {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::size_t kSizeField = sizeof(std::uint64_t);

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

}  // namespace

Safetensors::Safetensors(std::filesystem::path path) : path_(std::move(path)) {
  if (!std::filesystem::is_regular_file(path_)) fail("is not a file that can be read");
  std::ifstream file(path_, std::ios::binary);
  if (!file) fail("cannot be opened");
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) fail("cannot be read");
  if (bytes.size() < kSizeField) {
    fail("is truncated: " + std::to_string(bytes.size()) + " bytes, the header size alone takes 8");
  }
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), kSizeField);
  if (header_size > bytes.size() - kSizeField) {
    fail("is truncated or no safetensors file: its header would take " +
         std::to_string(header_size) + " bytes, the file has " +
         std::to_string(bytes.size() - kSizeField) + " after the size field");
  }
  const std::string_view all = bytes;
  const std::string_view text = all.substr(kSizeField, header_size);
  const auto header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) fail("has a header that is not a JSON object");
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    read_tensor(name, entry, all.substr(kSizeField + header_size));
  }
}

void Safetensors::fail(const std::string& what) const {
  throw std::runtime_error(path_.string() + ": " + what);
}

void Safetensors::read_tensor(const std::string& name, const nlohmann::json& entry,
                              std::string_view data) {
  const auto require = [&](bool good, const char* field, const char* allowed) {
    if (good) return;
    const bool there = entry.is_object() && entry.contains(field);
    fail("tensor " + name + ": " + field + " is " +
         (there ? entry[field].dump() : std::string("missing")) + ", expected " + allowed);
  };
  const auto naturals = [&](const char* field) {
    if (!entry.is_object() || !entry.contains(field) || !entry[field].is_array()) return false;
    for (const auto& number : entry[field]) {
      if (!number.is_number_unsigned()) return false;
    }
    return true;
  };
  require(naturals("shape"), "shape", "a list of natural numbers");
  require(entry.contains("dtype") && entry["dtype"] == "F32", "dtype", "\"F32\"");
  require(naturals("data_offsets") && entry["data_offsets"].size() == 2, "data_offsets",
          "[begin, end]");
  const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
  const auto end = entry["data_offsets"][1].get<std::uint64_t>();
  require(begin <= end, "data_offsets", "[begin, end]");
  if (end > data.size()) {
    fail("is truncated: tensor " + name + " ends at data byte " + std::to_string(end) +
         ", the file has " + std::to_string(data.size()));
  }
  Tensor tensor;
  tensor.shape = entry["shape"].get<std::vector<std::int64_t>>();
  std::uint64_t size = sizeof(float);
  bool fits = true;
  for (const std::int64_t extent : tensor.shape) {
    fits = fits && !__builtin_mul_overflow(size, static_cast<std::uint64_t>(extent), &size);
  }
  if (!fits || size != end - begin) {
    fail("tensor " + name + ": F32 " + shape_text(tensor.shape) + " takes " +
         (fits ? std::to_string(size) : std::string("more than 2^64")) +
         " bytes, its data_offsets span " + std::to_string(end - begin));
  }
  tensor.elements.resize((end - begin) / sizeof(float));
  if (end > begin) std::memcpy(tensor.elements.data(), data.data() + begin, end - begin);
  tensors_.emplace(name, std::move(tensor));
}

const float* Safetensors::f32(const std::string& name,
                              const std::vector<std::int64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    fail("tensor " + name + " is missing, expected F32 " + shape_text(shape));
  }
  if (found->second.shape != shape) {
    fail("tensor " + name + " is F32 " + shape_text(found->second.shape) + ", expected F32 " +
         shape_text(shape));
  }
  return found->second.elements.data();
}

}  // namespace transliterate
