// parameters.h: the values of a variant's parameters in a measured call.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PARAMETERS_H
#define FOVEA_BENCH_PARAMETERS_H

#include <fovea/dsl/example.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fovea::bench {

// Values that take the place of examples, as on the command line: a number (of a table: every entry
// of it), or "parts:8" for a table that numbers eight equal parts of its last axis.
using Settings = std::map<std::string, std::string>;

// NAME=VALUE words. Throws std::invalid_argument for another form or a name given twice.
Settings parse_settings(const std::vector<std::string>& words);

class CallParameters {
 public:
  // Settings of other variants are left alone. Throws std::invalid_argument for a value outside the
  // declared range.
  CallParameters(const Variant& variant, const ExampleShape& shape, const Settings& settings);
  CallParameters(const CallParameters&) = delete;
  CallParameters& operator=(const CallParameters&) = delete;

  const ParameterValues& values() const { return values_; }
  // The generated params structure; nullptr without parameters.
  const void* data() const { return block_.empty() ? nullptr : block_.data(); }

 private:
  void change_(const Parameter& parameter, const std::string& text);

  ExampleParameters examples_;
  ParameterValues values_;
  std::vector<std::vector<std::byte>> tables_;
  std::vector<std::byte> block_;
};

// Entries of a dense table.
size_t entry_count(const fovea_table& table);

}  // namespace fovea::bench

#endif
