// Damaged weight files are refused with a message that names tensor, found and expected.
//
// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace transliterate {
namespace {

using ::testing::HasSubstr;

const std::string kGood = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

std::filesystem::path path() {
  return std::filesystem::path(::testing::TempDir()) / "transliterate_test.safetensors";
}

// Header size, header, the numbers 0, 1, 2, …; the header size may lie, the end be cut off.
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
  std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
}

std::string refusal(const std::vector<std::int64_t>& shape = {2, 3},
                    const std::string& name = "w") {
  try {
    const Safetensors file(path());
    (void)file.f32(name, shape);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Safetensors, ReadsNumbers) {
  write_file(kGood, 6);
  const Safetensors file(path());
  const float* const w = file.f32("w", {2, 3});
  EXPECT_EQ(w[0], 0);
  EXPECT_EQ(w[5], 5);
}

TEST(Safetensors, OtherShapeOrName) {
  write_file(kGood, 6);
  EXPECT_THAT(refusal({3, 2}), HasSubstr("tensor w is F32 [2,3], expected F32 [3,2]"));
  EXPECT_THAT(refusal({2, 3}, "v"), HasSubstr("tensor v is missing, expected F32 [2,3]"));
}

TEST(Safetensors, Truncated) {
  write_file(kGood, 6, 1);
  EXPECT_THAT(refusal(), HasSubstr("is truncated: tensor w ends at data byte 24, the file has 23"));
  write_file(kGood, 0, 5);
  EXPECT_THAT(refusal(), HasSubstr("is truncated"));
  std::ofstream(path(), std::ios::binary | std::ios::trunc) << "abc";
  EXPECT_THAT(refusal(), HasSubstr("is truncated: 3 bytes"));
}

TEST(Safetensors, NoFile) {
  std::filesystem::remove(path());
  EXPECT_THAT(refusal(), HasSubstr("is not a file"));
  EXPECT_THROW(Safetensors(std::filesystem::path(::testing::TempDir())), std::runtime_error);
}

TEST(Safetensors, HeaderThatIsNone) {
  write_file("[1]", 6);
  EXPECT_THAT(refusal(), HasSubstr("not a JSON object"));
  write_file(kGood, 6, 0, 1000);
  EXPECT_THAT(refusal(), HasSubstr("its header would take"));
}

TEST(Safetensors, EntriesThatDoNotFit) {
  write_file(R"({"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 6);
  EXPECT_THAT(refusal(), HasSubstr(R"(tensor w: dtype is "F16", expected "F32")"));
  write_file(R"({"w":{"dtype":"F32","shape":[2,-3],"data_offsets":[0,24]}})", 6);
  EXPECT_THAT(refusal(), HasSubstr("tensor w: shape is [2,-3], expected"));
  write_file(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[24,0]}})", 6);
  EXPECT_THAT(refusal(), HasSubstr("data_offsets is [24,0], expected [begin, end]"));
  write_file(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 6);
  EXPECT_THAT(refusal(), HasSubstr("takes 24 bytes, its data_offsets span 20"));
  write_file(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,24]}})", 6);
  EXPECT_THAT(refusal(), HasSubstr("more than 2^64"));
  write_file(R"({"w":7})", 6);
  EXPECT_THAT(refusal(), HasSubstr("tensor w: shape is missing"));
}

}  // namespace
}  // namespace transliterate
