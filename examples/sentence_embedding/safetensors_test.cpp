// Damaged weight files must be refused with a message that names tensor, found and expected. Needs
// no model.
//
// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using sentence_embedding::Safetensors;

int failures = 0;
std::filesystem::path file;

// Header size, header, `floats` numbers 0, 1, 2, …, and `cut` bytes fewer than that.
void write_file(const std::string& header, std::size_t floats, std::size_t cut = 0,
                std::uint64_t size_error = 0) {
  const std::uint64_t size = header.size() + size_error;
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += header;
  for (std::size_t i = 0; i < floats; ++i) {
    const auto value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  bytes.resize(bytes.size() - cut);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

void expect_refused(const std::string& what, const std::vector<std::string>& words) {
  try {
    const Safetensors tensors(file);
    (void)tensors.f32("w", {2, 3});
    std::cout << "FAIL: accepted " << what << '\n';
    ++failures;
  } catch (const std::runtime_error& error) {
    for (const std::string& word : words) {
      if (std::strstr(error.what(), word.c_str()) != nullptr) continue;
      std::cout << "FAIL: " << what << ": no \"" << word << "\" in: " << error.what() << '\n';
      ++failures;
    }
  }
}

void run() {
  // 56 bytes, so that the data is aligned; the format pads its header with spaces to that end.
  const std::string good = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  const auto padded = [](std::string header) {
    return header.append((8 - header.size() % 8) % 8, ' ');
  };

  write_file(padded(good), 6);
  const Safetensors tensors(file);
  if (tensors.f32("w", {2, 3})[5] != 5) {
    std::cout << "FAIL: a good file reads wrong\n";
    ++failures;
  }

  write_file(padded(good), 6, 1);
  expect_refused("missing data", {"truncated", "tensor w", "24", "23"});
  write_file(padded(good), 0, 30);
  expect_refused("a cut header", {"truncated", "header"});
  write_file("", 0, 3);
  expect_refused("a cut size field", {"truncated", "5 bytes"});
  write_file("", 0, 8);
  expect_refused("an empty file", {"truncated"});
  write_file(padded(good), 6, 0, std::uint64_t{1} << 60);
  expect_refused("a huge header size", {"no safetensors file"});
  write_file(padded("[1, 2]"), 6);
  expect_refused("a header of another kind", {"not a JSON object"});
  write_file(padded("{\"w\": "), 6);
  expect_refused("a broken header", {"not a JSON object"});
  write_file(padded(R"({"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})"), 6);
  expect_refused("another type", {"tensor w", "F16 [2, 3]", "expected F32 [2, 3]"});
  write_file(padded(R"({"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}})"), 6);
  expect_refused("another shape", {"tensor w", "F32 [3, 2]", "expected F32 [2, 3]"});
  write_file(padded(R"({"v":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})"), 6);
  expect_refused("a missing tensor", {"tensor w is missing", "expected F32 [2, 3]"});
  write_file(padded(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})"), 6);
  expect_refused("offsets that do not fit the shape", {"tensor w", "24 bytes", "20"});
  write_file(padded(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[24,0]}})"), 6);
  expect_refused("offsets in the wrong order", {"tensor w", "data_offsets"});
  write_file(padded(R"({"w":{"dtype":"F32","shape":[-2,-3],"data_offsets":[0,24]}})"), 6);
  expect_refused("negative extents", {"tensor w", "[-2,-3]"});
  write_file(
      padded(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"), 6);
  expect_refused("an overflowing size", {"tensor w", "more than 2^64"});
  write_file(padded(R"({"w":{"dtype":"F32","shape":[2,3]}})"), 6);
  expect_refused("no offsets", {"tensor w", "data_offsets"});
  write_file(padded(good) + " ", 6);
  expect_refused("unaligned data", {"tensor w", "multiple of 4"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: safetensors_test SCRATCH_FILE\n";
    return 2;
  }
  file = argv[1];
  try {
    run();
  } catch (const std::exception& error) {
    std::cout << "FAIL: " << error.what() << '\n';
    ++failures;
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::cout << (failures == 0 ? "all refused as they should\n" : "");
  return failures == 0 ? 0 : 1;
}
