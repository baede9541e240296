// relative_table.cpp: a learned bias for each distance.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(relative_table, v) {
  auto bias = v.table<float>("bias", {axis::head, axis::any});
  bias.describe("(head, k - q + m), m = (extent - 1) / 2 the greatest distance that is told apart")
      .example(example::scattered(-2, 2))
      .example_extent([](const ExampleShape&) { return 257; });
  v.summary("a learned bias per head and distance; greater distances share the last entry");
  v.source(
      "Shaw et al. 2018, arXiv:1803.02155, as a bias; Liu et al. 2021, Swin, arXiv:2103.14030, in "
      "one dimension");
  v.family("position");
  v.note(
      "Shaw et al. add vectors to the keys, of which this keeps the part that does not depend on "
      "the query");
  v.score(
      [=](Expr s, Position p) { return s + bias(p.head, p.k - p.q + (bias.extent(1) - 1) / 2); });
  v.returns(lse);
}
