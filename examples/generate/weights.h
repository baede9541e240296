// Weights and settings from a safetensors file.
//
// Format: u64 little-endian header size, a JSON header {name: {dtype, shape, data_offsets}} with
// settings as text under "__metadata__", then the data.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_WEIGHTS_H_
#define GENERATE_WEIGHTS_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace generate {

// What fails throws std::runtime_error that names the file, and the tensor or setting.
class Weights {
 public:
  explicit Weights(std::filesystem::path path);

  // A tensor of bf16, widened, in row-major order.
  std::vector<float> tensor(const std::string& name, const std::vector<std::int64_t>& shape) const;
  // A setting that is a whole number from 1 to `most`.
  std::int64_t count(const std::string& name, std::int64_t most) const;
  // A setting that is a positive number.
  double number(const std::string& name) const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string setting_(const std::string& name) const;

  std::filesystem::path path_;
  nlohmann::json header_;
  std::string data_;
};

}  // namespace generate

#endif  // GENERATE_WEIGHTS_H_
