// tuning_file.cpp: appending under a lock, reading what can be read.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuning_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace fovea {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const fs::path& file) {
  throw std::runtime_error(
      fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

// The file, open for appending and locked.
class LockedFile {
 public:
  explicit LockedFile(const fs::path& file) : file_(file) {
    for (;;) {
      descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (descriptor_ < 0) fail("open", file);
      while (flock(descriptor_, LOCK_EX) != 0) {
        if (errno != EINTR) fail("lock", file);
      }
      // Meanwhile another process may have put a new file in its place: the lock of the old one
      // guards nothing.
      struct stat own{}, named{};
      if (fstat(descriptor_, &own) != 0) fail("examine", file);
      if (stat(file.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
          own.st_dev == named.st_dev)
        return;
      close(descriptor_);
    }
  }
  ~LockedFile() { close(descriptor_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  void append(std::string line) const {
    struct stat state{};
    if (fstat(descriptor_, &state) != 0) fail("examine", file_);
    char last = '\n';
    if (state.st_size > 0 && pread(descriptor_, &last, 1, state.st_size - 1) != 1)
      fail("read", file_);
    if (last != '\n') line.insert(line.begin(), '\n');
    line += '\n';
    if (write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
    const int error = errno;
    // Half a line on a full disk is worse than none.
    if (ftruncate(descriptor_, state.st_size) == 0) errno = error;
    fail("write", file_);
  }

 private:
  const fs::path& file_;
  int descriptor_ = -1;
};

}  // namespace

std::string StoredRecord::place() const {
  return fmt::format("{}:{}", file.filename().string(), line);
}

TuningFile read_tuning_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file))
    throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  TuningFile read;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      read.records.push_back({parse_record(line), file, number});
    } catch (const std::invalid_argument& error) {
      read.problems.push_back(
          fmt::format("{}:{}: skipped: {}", file.string(), number, error.what()));
    }
  }
  return read;
}

void append_record(const fs::path& file, const TuningRecord& record) {
  LockedFile(file).append(record_line(record));
}

void write_tuning_file(const fs::path& file, const std::vector<TuningRecord>& records) {
  std::vector<std::string> lines;
  for (const TuningRecord& r : records) lines.push_back(record_line(r));
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const LockedFile lock(file);
  const fs::path temporary = file.string() + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    for (const std::string& line : lines) out << line << '\n';
    out.flush();
    if (!out) fail("write", temporary);
  }
  fs::rename(temporary, file);
}

}  // namespace fovea
