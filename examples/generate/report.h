// What the program prints of its runs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_REPORT_H_
#define GENERATE_REPORT_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "generator.h"
#include "kv_cache.h"

namespace generate {

struct RunReport {
  CacheKind kind = CacheKind::None;
  Generated generated;
  // Of a quantised cache, along the text of the first run that is not: the mean error of a logit.
  std::optional<double> logit_error;
};

// Bytes that are no printable ASCII, and no line breaks, as \x...
std::string printable(const Tokens& tokens);

// The text of the first run, and a row for each.
void print_text(const Tokens& prompt, const std::vector<RunReport>& runs, std::ostream& out);
void print_json(const Tokens& prompt, const std::vector<RunReport>& runs, std::ostream& out);

}  // namespace generate

#endif  // GENERATE_REPORT_H_
