// shared_prefix.cpp: continuations of one prefix, packed after it.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(shared_prefix, v) {
  auto prefix = v.table<int>("prefix", {axis::batch});
  auto start = v.table<int>("start", {axis::batch, axis::query});
  const auto prefix_of = [](const ExampleShape& s) { return s.kv_len / 2; };
  prefix.describe("keys of the prefix that all continuations see")
      .example([=](const ExampleShape& s, const std::vector<int64_t>&) {
        return static_cast<double>(prefix_of(s));
      });
  // Four continuations of equal length.
  start
      .describe(
          "first position of the continuation that a query position belongs to; 0 in the prefix")
      .example([=](const ExampleShape& s, const std::vector<int64_t>& i) {
        const int64_t first = prefix_of(s), length = std::max<int64_t>(1, (s.kv_len - first) / 4);
        return i[1] < first ? 0.0 : static_cast<double>(i[1] - (i[1] - first) % length);
      });
  v.summary("several continuations of one prefix, which is stored and read once");
  v.source(
      "Ye et al. 2024, Cascade Inference (FlashInfer); Juravsky et al. 2024, Hydragen, "
      "arXiv:2402.05099");
  v.family("packed");
  v.note(
      "one pass over prefix and continuation; cascade kernels compute both apart and merge by LSE");
  v.keep(masks::shared_prefix([=](const Position& p) { return prefix(p.batch); },
                              [=](const Position& p) { return start(p.batch, p.q); }));
  v.returns(lse);
}
