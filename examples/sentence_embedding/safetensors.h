// Weights from a safetensors file, used where they lie: the file is mapped, never copied.
//
// Format: u64 little-endian header size, a JSON header {name: {dtype, shape, data_offsets}}, then
// the data.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_SAFETENSORS_H_
#define SENTENCE_EMBEDDING_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sentence_embedding {

class Safetensors {
 public:
  // Maps the file and checks its header as a whole; throws std::runtime_error naming file and
  // tensor.
  explicit Safetensors(std::filesystem::path path);
  ~Safetensors();
  Safetensors(const Safetensors&) = delete;
  Safetensors& operator=(const Safetensors&) = delete;

  // The elements of a float32 tensor in row-major order, valid as long as this object. Throws when
  // the tensor is missing or has another type or shape; the message says what was found and what
  // was expected.
  const float* f32(const std::string& name, const std::vector<std::int64_t>& shape) const;

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  // bytes from the start of the file
    std::uint64_t end = 0;
  };

  void map_file();
  void read_header();
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  const std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_SAFETENSORS_H_
