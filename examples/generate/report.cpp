// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compare.h"

namespace generate {
namespace {

double prefill_rate(const RunReport& run, const Tokens& prompt) {
  return static_cast<double>(prompt.size()) / run.generated.prefill_seconds;
}

// The first token comes out of the prompt. 0 if there is no other.
double decode_rate(const RunReport& run) {
  const std::size_t tokens = run.generated.tokens.size();
  return tokens < 2 ? 0 : static_cast<double>(tokens - 1) / run.generated.decode_seconds;
}

}  // namespace

std::string printable(const Tokens& tokens) {
  std::ostringstream text;
  for (const std::uint8_t byte : tokens) {
    if (byte == '\n' || (byte >= 0x20 && byte < 0x7f)) {
      text << static_cast<char>(byte);
    } else {
      text << "\\x" << std::hex << std::setw(2) << std::setfill('0') << int{byte};
    }
  }
  return text.str();
}

void print_text(const Tokens& prompt, const std::vector<RunReport>& runs, std::ostream& out) {
  out << printable(prompt) << printable(runs[0].generated.tokens) << "\n\n"
      << "cache        prefill tokens/s  decode tokens/s  KB of cache  as the text above, tokens  "
         "mean logit error\n";
  for (const RunReport& run : runs) {
    std::ostringstream row;
    row << std::left << std::setw(10) << name_of(run.kind) << std::right << std::fixed
        << std::setprecision(0) << std::setw(19) << prefill_rate(run, prompt) << std::setw(17)
        << decode_rate(run) << std::setprecision(1) << std::setw(13)
        << static_cast<double>(run.generated.cache_bytes) / 1e3;
    const std::size_t count = run.generated.tokens.size();
    const std::size_t same = common_tokens(run.generated.tokens, runs[0].generated.tokens);
    row << std::setw(27) << (std::to_string(same) + " of " + std::to_string(count));
    if (run.logit_error) row << std::setprecision(4) << std::setw(18) << *run.logit_error;
    out << row.str() << '\n';
  }
}

void print_json(const Tokens& prompt, const std::vector<RunReport>& runs, std::ostream& out) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RunReport& run : runs) {
    nlohmann::json row = {
        {"cache", name_of(run.kind)},
        {"tokens", run.generated.tokens},
        {"text", printable(run.generated.tokens)},
        {"prefill_tokens_per_s", prefill_rate(run, prompt)},
        {"decode_tokens_per_s", decode_rate(run)},
        {"cache_bytes", run.generated.cache_bytes},
        {"tokens_as_first", common_tokens(run.generated.tokens, runs[0].generated.tokens)}};
    if (run.logit_error) row["mean_logit_error"] = *run.logit_error;
    rows.push_back(std::move(row));
  }
  out << nlohmann::json{{"prompt_tokens", prompt}, {"runs", rows}}.dump(2) << '\n';
}

}  // namespace generate
