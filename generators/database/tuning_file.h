// tuning_file.h: files of tuning records, one JSON object a line.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DATABASE_TUNING_FILE_H
#define FOVEA_GENERATORS_DATABASE_TUNING_FILE_H

#include <filesystem>
#include <string>
#include <vector>

#include "generators/database/tuning_record.h"

namespace fovea {

struct StoredRecord {
  TuningRecord record;
  std::filesystem::path file;
  int line = 0;

  // "x86-zen4.jsonl:12": the same wherever the file lies.
  std::string place() const;
};

struct TuningFile {
  std::vector<StoredRecord> records;
  std::vector<std::string> problems;  // "FILE:LINE: what": lines that were skipped
};

// A line that does not read is a problem of its own and keeps no other. Throws std::runtime_error:
// the file cannot be opened.
TuningFile read_tuning_file(const std::filesystem::path& file);

// Adds a line; the file is made if it is not there. Any number of processes may do so at once. An
// unfinished line that a killed process has left is closed first. Throws std::runtime_error.
void append_record(const std::filesystem::path& file, const TuningRecord& record);

// Replaces the file by these records in the order of their lines' texts, each once. Lines that
// others append meanwhile wait. Throws std::runtime_error.
void write_tuning_file(const std::filesystem::path& file, const std::vector<TuningRecord>& records);

}  // namespace fovea

#endif
