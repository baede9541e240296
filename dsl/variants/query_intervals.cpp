// query_intervals.cpp: one interval of keys for each query.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(query_intervals, v) {
  auto first = v.table<int>("first", {axis::batch, axis::query});
  auto end = v.table<int>("end", {axis::batch, axis::query});
  // A window that grows with the position.
  first.describe("first key that a query position sees")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        return static_cast<double>(i[1] - i[1] / 2);
      });
  end.describe("end of the keys that it sees")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        return static_cast<double>(i[1] + 1);
      });
  v.summary("one interval of keys for each query, from tables");
  v.source("the general form of packed documents, windows and prefixes");
  v.family("sparse");
  v.note("several intervals are masks::keys_between(…) | masks::keys_between(…)");
  v.keep(masks::keys_between([=](const Position& p) { return first(p.batch, p.q); },
                             [=](const Position& p) { return end(p.batch, p.q); }));
  v.returns(lse);
}
