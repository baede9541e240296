// files_test.cpp: reading, writing whole or not at all, hashing.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "scratch_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

TEST(Files, WriteAndRead) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "file";
  const std::string bytes("a\0b\r\n\xff", 6);
  write_if_changed(path, bytes);
  EXPECT_EQ(read_file(path), bytes);
  write_if_changed(path, "");
  EXPECT_EQ(read_file(path), "");
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Files, EqualTextsAreNotWrittenAgain) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "file";
  write_if_changed(path, "text");
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path, old);
  const auto before = fs::last_write_time(path);
  write_if_changed(path, "text");
  EXPECT_EQ(fs::last_write_time(path), before);
  write_if_changed(path, "texts");
  EXPECT_GT(fs::last_write_time(path), before);
}

// A link to a text elsewhere, and a reader that has the old file open, keep what they had.
TEST(Files, AFileIsReplacedNotOverwritten) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "file";
  write_if_changed(path, "old");
  std::ifstream reader(path);
  write_if_changed(path, "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(read_file(path), "new");
}

TEST(Files, ErrorsNameTheFile) {
  const ScratchFolder folder;
  const fs::path missing = folder.path() / "missing" / "file";
  try {
    read_file(missing);
    FAIL() << "read a missing file";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot read " + missing.string());
  }
  try {
    write_if_changed(missing, "text");
    FAIL() << "wrote into a missing folder";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cannot write " + missing.string()));
  }
}

TEST(Files, HashIsFnv1a) {
  EXPECT_EQ(hash_bytes(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_bytes("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_bytes("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(hash_bytes("bar", hash_bytes("foo")), hash_bytes("foobar"));
}

}  // namespace
}  // namespace fovea
