// A long context split over processes: decode steps over a cache in shards, and a prompt whose keys
// travel round a ring, each compared with one process that has everything.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include "decode.h"
#include "ring.h"

namespace context_parallel {
namespace {

struct Options {
  std::string file;
  std::int64_t length = 0, rows = 4;
  int threads = 1, victim = kNobody;
  double deadline = 60;
};

class Clock {
 public:
  double seconds() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// How far two results are apart, and how far they may be: both are f32 sums of values up to 1 whose
// weights come from an LSE that is itself rounded to f32, once by each kernel and once by each
// merge. Four more units in the last place are for the kernels' own sums.
struct Comparison {
  double out = 0, lse = 0, bound = 0;
  bool is_fine() const { return out <= bound && lse <= bound; }
};

Comparison compare(const Part& got, const Part& expected) {
  Comparison result;
  double largest_lse = 0;
  for (std::size_t i = 0; i < expected.data.size(); ++i) {
    const double a = got.data[i], b = expected.data[i];
    const bool is_lse = i % Part::kRow == Part::kRow - 1;
    const double error = a == b ? 0 : std::fabs(a - b);
    double& largest = is_lse ? result.lse : result.out;
    if (!(error <= largest)) largest = error;  // NaN too
    if (is_lse && std::isfinite(b)) largest_lse = std::max(largest_lse, std::fabs(b));
  }
  result.bound = std::ldexp(largest_lse + 4, -22);
  return result;
}

std::string listed(const std::vector<double>& numbers, const char* format) {
  std::string text;
  for (const double number : numbers) {
    char one[32];
    std::snprintf(one, sizeof(one), format, number);
    text += (text.empty() ? "" : " ") + std::string(one);
  }
  return text;
}

// One line of the report; false if the results differ by more than the bound.
bool report(Variant variant, const Comparison& comparison, double seconds, double alone,
            const std::vector<double>& bytes) {
  std::printf(
      "  %-4s %-14s max error: out %.1e, lse %.1e (bound %.1e); %.1f ms, one process %.1f ms; "
      "bytes sent: %s\n",
      comparison.is_fine() ? "ok" : "FAIL", name_of(variant), comparison.out, comparison.lse,
      comparison.bound, 1e3 * seconds, 1e3 * alone, listed(bytes, "%.0f").c_str());
  return comparison.is_fine();
}

char expected_at(const Part& part, std::int64_t row) {
  const float* rows[kHeads];
  for (std::int64_t h = 0; h < kHeads; ++h) rows[h] = part.row(h, row);
  return expected_character(rows);
}

std::string printable(std::string text) {
  for (char& c : text) c = c < ' ' || c == 0x7f ? ' ' : c;
  return text;
}

bool run_decode(Processes& processes, const Options& options, const std::string& text,
                const Cache& whole) {
  const auto length = static_cast<std::int64_t>(text.size());
  const std::int64_t count = std::min(options.rows, length);
  const Span rows = {length - count, count};
  const Span span = shard_of(length, processes.size(), processes.rank());
  const Cache cache = cache_of(text, span);
  const std::vector<float> q = queries(text, rows);
  const auto shards = processes.gather(static_cast<double>(span.count), "sizes of shards");
  if (processes.is_first()) {
    std::printf("decode: %lld rows; keys of the ranks: %s\n", static_cast<long long>(count),
                listed(shards, "%.0f").c_str());
  }
  bool is_fine = true;
  for (const Variant variant : kVariants) {
    processes.meet("the beginning of a decode step");
    processes.forget_bytes();
    const Clock clock;
    const Part got = decode(processes, variant, q, rows, cache, options.threads);
    const double seconds = clock.seconds();
    const auto bytes = processes.gather(static_cast<double>(processes.bytes_sent()), "bytes");
    if (!processes.is_first()) continue;
    const Clock alone;
    const Part expected = attend(variant, q, rows, whole.keys(), options.threads);
    const double alone_seconds = alone.seconds();
    is_fine = report(variant, compare(got, expected), seconds, alone_seconds, bytes) && is_fine;
    if (variant != Variant::Causal) continue;
    const std::string end =
        text.substr(static_cast<std::size_t>(std::max<std::int64_t>(0, length - 40)));
    std::printf("       \"%s\" goes on with \"%s\"\n", printable(end).c_str(),
                printable(std::string(1, expected_at(got, count - 1))).c_str());
  }
  return is_fine;
}

bool run_prefill(Processes& processes, const Options& options, const std::string& text,
                 const Cache& whole) {
  const auto length = static_cast<std::int64_t>(text.size());
  const Span rows = {0, length};
  const Prompt prompt = prompt_of(text, processes.size(), processes.rank());
  bool is_fine = true;
  if (processes.is_first())
    std::printf("prefill: %lld rows, %d chunks in a ring\n", static_cast<long long>(length),
                2 * processes.size());
  for (const Variant variant : kVariants) {
    processes.meet("the beginning of a prefill");
    processes.forget_bytes();
    const Clock clock;
    const RingResult own = prefill(processes, variant, prompt, options.threads, options.victim);
    processes.meet("the end of a prefill");
    const double seconds = clock.seconds();
    const auto bytes = processes.gather(static_cast<double>(processes.bytes_sent()), "bytes");
    auto share = processes.gather(static_cast<double>(own.pairs), "work");
    const Part got = collect(processes, length, own.parts);
    if (!processes.is_first()) continue;
    const std::vector<float> q = queries(text, rows);
    const Clock alone;
    const Part expected = attend(variant, q, rows, whole.keys(), options.threads);
    const double alone_seconds = alone.seconds();
    is_fine = report(variant, compare(got, expected), seconds, alone_seconds, bytes) && is_fine;
    for (double& pairs : share)
      pairs *= 100 / static_cast<double>(visible_pairs(variant, rows, rows));
    std::printf("       work of the ranks: %s %%\n", listed(share, "%.1f").c_str());
    if (variant != Variant::Causal) continue;
    std::int64_t right = 0;
    for (std::int64_t i = 0; i + 1 < length; ++i)
      right += expected_at(got, i) == text[static_cast<std::size_t>(i + 1)];
    std::printf("       guessed %lld of %lld characters from what came before\n",
                static_cast<long long>(right), static_cast<long long>(length - 1));
  }
  return is_fine;
}

bool run(Processes& processes, const Options& options) {
  const std::string text = read_text(options.file, options.length);
  const auto length = static_cast<std::int64_t>(text.size());
  if (length == 0) throw std::runtime_error(options.file + " is empty");
  if (processes.is_first()) {
    std::printf("%d ranks, %lld characters, %lld query heads on %lld KV heads, %d threads each\n",
                processes.size(), static_cast<long long>(length), static_cast<long long>(kHeads),
                static_cast<long long>(kKvHeads), options.threads);
  }
  // Only the process that checks has all keys.
  const Cache whole = processes.is_first() ? cache_of(text, {0, length}) : Cache{};
  const bool decode_is_fine = run_decode(processes, options, text, whole);
  const bool prefill_is_fine = run_prefill(processes, options, text, whole);
  return decode_is_fine && prefill_is_fine;
}

}  // namespace
}  // namespace context_parallel

int main(int argc, char** argv) {
  using namespace context_parallel;
  Processes processes(&argc, &argv);
  try {
    Options options;
    CLI::App app{"Attention over a long text, split over processes"};
    app.add_option("FILE", options.file, "text")->required();
    app.add_option("--length", options.length, "characters of it to take; 0: all")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--rows", options.rows, "rows of a decode step")->check(CLI::PositiveNumber);
    app.add_option("--threads", options.threads, "of each process")->check(CLI::PositiveNumber);
    app.add_option("--deadline", options.deadline, "seconds to wait for another process")
        ->check(CLI::PositiveNumber);
    app.add_option("--kill", options.victim, "rank that dies while keys travel");
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return processes.is_first() ? app.exit(error) : error.get_exit_code();
    }
    processes.set_deadline(options.deadline);
    const bool is_fine = run(processes, options);
    std::fflush(stdout);
    processes.meet("the end");
    return is_fine ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", processes.rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
}
