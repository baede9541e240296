// key_intervals.cpp: rows hidden per key, two intervals each (FlashMask).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(key_intervals, v) {
  auto lower_first = v.table<int>("lower_first", {axis::batch, axis::kv_head, axis::key});
  auto lower_end = v.table<int>("lower_end", {axis::batch, axis::kv_head, axis::key});
  auto upper_first = v.table<int>("upper_first", {axis::batch, axis::kv_head, axis::key});
  auto upper_end = v.table<int>("upper_end", {axis::batch, axis::kv_head, axis::key});
  // Causal inside four documents.
  lower_first.describe("first query position below the diagonal that does not see the key")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        const int64_t length = std::max<int64_t>(1, (s.kv_len + 3) / 4);
        return static_cast<double>((i[2] / length + 1) * length);
      });
  lower_end.describe("end of those positions")
      .example([](const ExampleShape& s, const std::vector<int64_t>&) {
        return static_cast<double>(s.kv_len);
      });
  upper_first.describe("first query position above the diagonal that does not see the key")
      .example(example::constant(0));
  upper_end.describe("end of those positions")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        return static_cast<double>(i[2]);
      });
  v.summary("two intervals of rows that do not see a key, for each key: FlashMask");
  v.source("Wang et al. 2024, FlashMask, arXiv:2410.01359 (its four-column form)");
  v.family("sparse");
  v.note("causal is not implied: rows before the key belong to the upper interval");
  v.note("rows are absolute query positions");
  const auto of = [](const Table<int>& table) {
    return [=](const Position& p) { return table(p.batch, p.kv_head, p.k); };
  };
  v.keep(masks::hidden_rows(of(lower_first), of(lower_end)));
  v.keep(masks::hidden_rows(of(upper_first), of(upper_end)));
  v.returns(lse);
}
