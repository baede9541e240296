// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace generate {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::size_t kSizeField = 8;

}  // namespace

void Weights::fail(const std::string& what) const {
  throw std::runtime_error("--weights " + path_.string() + ": " + what);
}

Weights::Weights(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_, std::ios::binary);
  if (!file || std::filesystem::is_directory(path_))
    fail("cannot be opened; train/train.py writes such a file");
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.size() < kSizeField) {
    fail("is truncated: " + std::to_string(bytes.size()) +
         " bytes, the size of the header alone takes 8");
  }
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), kSizeField);
  const std::size_t rest = bytes.size() - kSizeField;
  if (header_size > rest) {
    fail("is truncated or no safetensors file: the header would take " +
         std::to_string(header_size) + " bytes, " + std::to_string(rest) + " follow its size");
  }
  const char* const text = bytes.data() + kSizeField;
  header_ = nlohmann::json::parse(text, text + header_size, nullptr, /*allow_exceptions=*/false);
  if (!header_.is_object()) fail("has a header that is not a JSON object");
  data_ = bytes.substr(kSizeField + header_size);
}

std::vector<float> Weights::tensor(const std::string& name,
                                   const std::vector<std::int64_t>& shape) const {
  const auto found = header_.find(name);
  if (found == header_.end()) fail("tensor " + name + " is missing");
  const nlohmann::json expected_shape = shape;
  const nlohmann::json dtype = found->value("dtype", nlohmann::json());
  const nlohmann::json actual_shape = found->value("shape", nlohmann::json());
  if (dtype != "BF16" || actual_shape != expected_shape) {
    fail("tensor " + name + " is " + dtype.dump() + " " + actual_shape.dump() +
         ", expected \"BF16\" " + expected_shape.dump());
  }
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
  const std::uint64_t bytes = 2 * elements;
  const nlohmann::json offsets = found->value("data_offsets", nlohmann::json());
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned() ||
      offsets[1].get<std::uint64_t>() - offsets[0].get<std::uint64_t>() != bytes) {
    fail("tensor " + name + " has the data_offsets " + offsets.dump() + ", expected " +
         std::to_string(bytes) + " bytes");
  }
  const auto begin = offsets[0].get<std::uint64_t>();
  if (begin > data_.size() || data_.size() - begin < bytes) {
    fail("is truncated: tensor " + name + " ends at data byte " + offsets[1].dump() +
         ", the file has " + std::to_string(data_.size()));
  }
  std::vector<float> numbers(elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, data_.data() + begin + 2 * i, sizeof(half));
    numbers[i] = std::bit_cast<float>(std::uint32_t{half} << 16);
  }
  return numbers;
}

std::string Weights::setting_(const std::string& name) const {
  const auto settings = header_.find("__metadata__");
  if (settings == header_.end() || !settings->is_object()) fail("has no settings of a model");
  const auto found = settings->find(name);
  if (found == settings->end() || !found->is_string()) fail("setting " + name + " is missing");
  return found->get<std::string>();
}

std::int64_t Weights::count(const std::string& name, std::int64_t most) const {
  const std::string text = setting_(name);
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 1 || value > most) {
    fail("setting " + name + " is '" + text + "', allowed are 1 to " + std::to_string(most));
  }
  return value;
}

double Weights::number(const std::string& name) const {
  const std::string text = setting_(name);
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value > 0)) {
    fail("setting " + name + " is '" + text + "', expected a positive number");
  }
  return value;
}

}  // namespace generate
