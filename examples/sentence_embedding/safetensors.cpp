// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

namespace sentence_embedding {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::uint64_t kSizeField = 8;
// The limit of the format's own reader; it keeps a damaged size field from looking like a huge
// header.
constexpr std::uint64_t kMaxHeader = 100'000'000;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

// Bytes per element; nullopt for a type that the format does not know.
std::optional<std::uint64_t> element_size(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) return std::nullopt;
  return found->second;
}

// Bytes of a tensor; nullopt when that does not fit into 64 bits.
std::optional<std::uint64_t> tensor_bytes(std::uint64_t element,
                                          const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = element;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      return std::nullopt;
  }
  return bytes;
}

}  // namespace

Safetensors::Safetensors(std::filesystem::path path) : path_(std::move(path)) {
  map_file();
  try {
    read_header();
  } catch (...) {
    munmap(const_cast<std::byte*>(bytes_), size_);  // a throwing constructor gets no destructor
    throw;
  }
}

Safetensors::~Safetensors() { munmap(const_cast<std::byte*>(bytes_), size_); }

void Safetensors::fail(const std::string& what) const {
  throw std::runtime_error(path_.string() + ": " + what);
}

void Safetensors::map_file() {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    fail("is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ < kSizeField) {
    close(file);
    fail("is truncated: " + std::to_string(size_) + " bytes, the header size alone takes 8");
  }
  void* const memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (memory == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(error));
  bytes_ = static_cast<const std::byte*>(memory);
}

void Safetensors::read_header() {
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes_, kSizeField);
  if (header_size > kMaxHeader) {
    fail("is no safetensors file: its header would take " + std::to_string(header_size) + " bytes");
  }
  if (header_size > size_ - kSizeField) {
    fail("is truncated: the header takes " + std::to_string(header_size) + " bytes, the file has " +
         std::to_string(size_ - kSizeField) + " after the size field");
  }
  const char* const text = reinterpret_cast<const char*>(bytes_ + kSizeField);
  const auto header = nlohmann::json::parse(text, text + header_size, nullptr, false);
  if (!header.is_object()) fail("has a header that is not a JSON object");

  const std::uint64_t data_begin = kSizeField + header_size;
  const std::uint64_t data_size = size_ - data_begin;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    Entry entry;
    std::vector<std::uint64_t> offsets;
    try {
      entry.dtype = value.at("dtype").get<std::string>();
      for (const auto& extent : value.at("shape")) {
        // get<>() would turn a negative or fractional number into something else without a word.
        if (!extent.is_number_unsigned())
          fail("tensor " + name + ": shape " + value["shape"].dump());
        entry.shape.push_back(extent.get<std::int64_t>());
      }
      for (const auto& offset : value.at("data_offsets")) {
        if (!offset.is_number_unsigned()) {
          fail("tensor " + name + ": data_offsets " + value["data_offsets"].dump());
        }
        offsets.push_back(offset.get<std::uint64_t>());
      }
    } catch (const nlohmann::json::exception& error) {
      fail("tensor " + name + ": header entry is malformed: " + error.what());
    }
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail("tensor " + name + ": data_offsets must be [begin, end]");
    }
    if (offsets[1] > data_size) {
      fail("is truncated: tensor " + name + " ends at data byte " + std::to_string(offsets[1]) +
           ", the file has " + std::to_string(data_size));
    }
    const auto element = element_size(entry.dtype);
    // Types that came after this program cannot be sized, but do no harm unless they are asked for.
    if (element) {
      const auto bytes = tensor_bytes(*element, entry.shape);
      if (!bytes || *bytes != offsets[1] - offsets[0]) {
        fail("tensor " + name + ": " + entry.dtype + " " + shape_text(entry.shape) + " takes " +
             (bytes ? std::to_string(*bytes) : std::string("more than 2^64")) +
             " bytes, its data_offsets span " + std::to_string(offsets[1] - offsets[0]));
      }
    }
    entry.begin = data_begin + offsets[0];
    entry.end = data_begin + offsets[1];
    entries_.emplace(name, std::move(entry));
  }
}

const float* Safetensors::f32(const std::string& name,
                              const std::vector<std::int64_t>& shape) const {
  const std::string expected = "F32 " + shape_text(shape);
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail("tensor " + name + " is missing, expected " + expected);
  const Entry& entry = found->second;
  if (entry.dtype != "F32" || entry.shape != shape) {
    fail("tensor " + name + " is " + entry.dtype + " " + shape_text(entry.shape) + ", expected " +
         expected);
  }
  if (entry.begin % alignof(float) != 0) {
    fail("tensor " + name + " starts at byte " + std::to_string(entry.begin) +
         ", expected a multiple of 4");
  }
  return reinterpret_cast<const float*>(bytes_ + entry.begin);
}

}  // namespace sentence_embedding
