// SPDX-License-Identifier: Apache-2.0
#include "ring.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "decode.h"

namespace context_parallel {
namespace {

// The keys of two chunks, one after the other: what travels.
std::size_t shard_numbers(const std::array<Span, 2>& chunks) {
  return static_cast<std::size_t>(2 * kKvHeads * kFeatures * (chunks[0].count + chunks[1].count));
}

// The rows of one chunk against the two chunks of a visiting shard.
void attend_shard(Variant variant, const std::vector<float>& q, const std::vector<float>& shard,
                  const std::array<Span, 2>& chunks, int threads, RingResult* result, Part* into) {
  const Span rows = into->rows;
  Part parts[2];
  int count = 0;
  const float* data = shard.data();
  for (const Span& chunk : chunks) {
    const std::int64_t pairs = visible_pairs(variant, rows, chunk);
    // A part without visible keys would change nothing; nothing is asked for it.
    if (pairs > 0) parts[count++] = attend(variant, q, rows, {chunk, data}, threads);
    result->pairs += pairs;
    data += 2 * kKvHeads * kFeatures * chunk.count;
  }
  if (count > 0) merge_into(*into, parts, count);
}

}  // namespace

std::array<Span, 2> chunks_of(std::int64_t length, int ranks, int rank) {
  return {shard_of(length, 2 * ranks, rank), shard_of(length, 2 * ranks, 2 * ranks - 1 - rank)};
}

Prompt prompt_of(const std::string& text, int ranks, int rank) {
  const auto length = static_cast<std::int64_t>(text.size());
  Prompt prompt = {length, chunks_of(length, ranks, rank), {}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    prompt.queries[i] = queries(text, prompt.chunks[i]);
    const std::vector<float> keys = keys_and_values(text, prompt.chunks[i]);
    prompt.shard.insert(prompt.shard.end(), keys.begin(), keys.end());
  }
  return prompt;
}

RingResult prefill(Processes& processes, Variant variant, const Prompt& prompt, int threads,
                   int victim) {
  const int ranks = processes.size(), rank = processes.rank();
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  // The chunks that a rank's neighbours have passed on to it by then.
  const auto chunks_in = [&](int step) {
    return chunks_of(prompt.length, ranks, (rank + ranks - step) % ranks);
  };
  RingResult result = {{Part(prompt.chunks[0]), Part(prompt.chunks[1])}, 0};
  std::vector<float> shard = prompt.shard, coming;
  for (int step = 0; step < ranks; ++step) {
    if (step == 1 && rank == victim) std::raise(SIGKILL);
    std::vector<MPI_Request> requests;
    if (step + 1 < ranks) {
      // The shard goes on while it is worked on.
      coming.resize(shard_numbers(chunks_in(step + 1)));
      requests = {processes.receive(&coming, previous), processes.send(shard, next)};
    }
    for (std::size_t i = 0; i < 2; ++i) {
      attend_shard(variant, prompt.queries[i], shard, chunks_in(step), threads, &result,
                   &result.parts[i]);
    }
    processes.wait(requests, "keys from rank " + std::to_string(previous) + ", step " +
                                 std::to_string(step + 1));
    std::swap(shard, coming);
  }
  return result;
}

Part collect(Processes& processes, std::int64_t length, const std::array<Part, 2>& own) {
  if (!processes.is_first()) {
    processes.wait({processes.send(own[0].data, 0), processes.send(own[1].data, 0)},
                   "results for rank 0");
    return {};
  }
  Part whole({0, length});
  for (int rank = 0; rank < processes.size(); ++rank) {
    const std::array<Span, 2> chunks = chunks_of(length, processes.size(), rank);
    std::array<Part, 2> parts = own;
    if (rank > 0) {
      parts = {Part(chunks[0]), Part(chunks[1])};
      processes.wait(
          {processes.receive(&parts[0].data, rank), processes.receive(&parts[1].data, rank)},
          "results of rank " + std::to_string(rank));
    }
    for (const Part& part : parts) {
      for (std::int64_t h = 0; h < kHeads; ++h) {
        const float* rows = part.row(h, 0);
        std::copy(rows, rows + part.rows.count * Part::kRow,
                  whole.data.begin() + (h * length + part.rows.first) * Part::kRow);
      }
    }
  }
  return whole;
}

}  // namespace context_parallel
