// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>

#include "compare.h"
#include "fixture.h"
#include "generator.h"

namespace generate {
namespace {

// Sums are in another order than PyTorch's, and in f32; its reference is in f64.
constexpr double kMaxLogitError = 1e-4;
// With chunks smaller than the longer prompts, so that calls see earlier chunks.
constexpr std::int64_t kChunk = 48;

// Of the mean error of a logit along the same text: about twice what was seen with the model here,
// whose logits mostly lie between -15 and 15.
double limit_of(CacheKind kind) {
  switch (kind) {
    case CacheKind::Int8:
      return 0.06;
    case CacheKind::Int4:
      return 0.8;
    case CacheKind::E4M3:
      return 0.35;
    case CacheKind::E5M2:
      return 0.7;
    default:
      return 0;
  }
}

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}
  void judge(bool good, const std::string& what) {
    out_ << (good ? "  PASS  " : "  FAIL  ") << what << '\n';
    passed_ = passed_ && good;
  }
  bool passed() const { return passed_; }

 private:
  std::ostream& out_;
  bool passed_ = true;
};

void check_exact(CacheKind kind, const Generated& got, const FixtureCase& expected,
                 const Generated& recomputed, Report* report) {
  const std::size_t same = common_tokens(got.tokens, expected.tokens);
  double error = 0;
  for (std::size_t i = 0; i < expected.steps.size(); ++i) {
    error = std::max(error, max_error(got.logits[expected.steps[i]], expected.logits[i]));
  }
  // Past a token that differs the logits are of different texts.
  const double between = got.tokens == recomputed.tokens ? max_error(got.logits, recomputed.logits)
                                                         : std::numeric_limits<double>::infinity();
  std::ostringstream text;
  text << std::setprecision(2) << name_of(kind) << ": PyTorch's text for " << same << " of "
       << expected.tokens.size() << " tokens; largest logit error against PyTorch " << error;
  if (kind != CacheKind::None) text << ", against recomputing " << between;
  text << " (limit " << kMaxLogitError << ")";
  report->judge(
      got.tokens == expected.tokens && error <= kMaxLogitError && between <= kMaxLogitError,
      text.str());
}

}  // namespace

bool check(const Transformer& model, const std::filesystem::path& path, int threads,
           std::ostream& out) {
  const Fixture fixture = read_fixture(path);
  Report report(out);
  out << "reference: " << fixture.origin << '\n';
  for (const FixtureCase& c : fixture.cases) {
    Settings settings;
    settings.window = c.window;
    settings.sinks = c.sinks;
    settings.chunk = kChunk;
    settings.threads = threads;
    const auto run = [&](CacheKind kind, const Tokens* forced) {
      return generate(model, kind, settings, c.prompt, c.tokens.size(), forced);
    };
    out << "prompt of " << c.prompt.size() << " bytes, " << c.tokens.size() << " tokens, "
        << (c.window == 0
                ? std::string("no window")
                : "window " + std::to_string(c.window) + ", sinks " + std::to_string(c.sinks))
        << "; the two largest logits differ by " << std::setprecision(2) << c.margin
        << " or more\n";
    const Generated recomputed = run(CacheKind::None, nullptr);
    const Generated along = run(CacheKind::None, &c.tokens);
    for (const CacheKind kind : all_cache_kinds()) {
      if (kind == CacheKind::Ring && c.window == 0) continue;
      if (!is_quantised(kind)) {
        check_exact(kind, kind == CacheKind::None ? recomputed : run(kind, nullptr), c, recomputed,
                    &report);
        continue;
      }
      const std::size_t same = common_tokens(run(kind, nullptr).tokens, c.tokens);
      const double error = mean_error(run(kind, &c.tokens).logits, along.logits);
      std::ostringstream text;
      text << std::setprecision(2) << name_of(kind) << ": mean logit error along the same text "
           << error << " (limit " << limit_of(kind) << "); its own text is PyTorch's for " << same
           << " of " << c.tokens.size() << " tokens";
      report.judge(error <= limit_of(kind), text.str());
    }
  }
  out << (report.passed() ? "check PASSED" : "check FAILED") << '\n';
  return report.passed();
}

}  // namespace generate
