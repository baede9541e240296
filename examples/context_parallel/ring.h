// A prompt whose rows and keys are spread over the ranks; the keys travel round a ring.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "attention.h"
#include "processes.h"

namespace context_parallel {

// Rank r of n holds the chunks r and 2n - 1 - r of 2n: one that sees little of what came before,
// and one that sees much, so that under a causal mask every rank has as much to do, in every step.
std::array<Span, 2> chunks_of(std::int64_t length, int ranks, int rank);

// What a rank has at the beginning: its rows, and its keys as they travel.
struct Prompt {
  std::int64_t length;
  std::array<Span, 2> chunks;
  std::array<std::vector<float>, 2> queries;
  std::vector<float> shard;  // keys_and_values() of both chunks
};
Prompt prompt_of(const std::string& text, int ranks, int rank);

struct RingResult {
  std::array<Part, 2> parts;  // of this rank's chunks
  std::int64_t pairs;         // of queries and keys that it computed
};

constexpr int kNobody = -1;
// `victim` is a rank that dies in the second step.
RingResult prefill(Processes& processes, Variant variant, const Prompt& prompt, int threads,
                   int victim);

// The rows of all ranks in their order, at rank 0; elsewhere nothing.
Part collect(Processes& processes, std::int64_t length, const std::array<Part, 2>& own);

}  // namespace context_parallel
