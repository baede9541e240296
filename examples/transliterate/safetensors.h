// Weights from a safetensors file, read whole and checked.
//
// Format: u64 little-endian header size, a JSON header {name: {dtype, shape, data_offsets}}, then
// the data.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace transliterate {

class Safetensors {
 public:
  // Throws std::runtime_error that names file and tensor, what was found and what is allowed.
  explicit Safetensors(std::filesystem::path path);

  // The elements of a tensor in row-major order, valid as long as this object. Throws when it is
  // missing or has another shape.
  const float* f32(const std::string& name, const std::vector<std::int64_t>& shape) const;

 private:
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> elements;
  };

  void read_tensor(const std::string& name, const nlohmann::json& entry, std::string_view data);
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace transliterate
