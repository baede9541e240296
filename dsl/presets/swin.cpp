// swin.cpp: Swin Transformer.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(swin, v) {
  auto width = v.scalar<int>("width").between(1, 4096);
  auto bias = v.table<float>("bias", {axis::any, axis::head});
  width.describe("tokens along a side of the window").example([](const ExampleShape& s) {
    double n = 1;
    while ((n + 1) * (n + 1) <= static_cast<double>(s.kv_len) && n < 4096) ++n;
    return n;
  });
  bias.describe("((dy + width - 1) * (2 * width - 1) + dx + width - 1, head): the model's table")
      .example(example::scattered(-1, 1))
      .example_extent([](const ExampleShape& s) { return 4 * std::max<int64_t>(1, s.kv_len); });
  v.summary("Swin: full attention inside a window of an image, with a learned relative bias");
  v.source("Liu et al. 2021, Swin Transformer, arXiv:2103.14030");
  v.family("model");
  v.note(
      "one window of width * width tokens is one sequence; shifted windows are a dense mask or "
      "documents");
  v.score([=](Expr s, Position p) {
    const Expr dy = p.q / width - p.k / width, dx = p.q % width - p.k % width;
    return s + bias((dy + width - 1) * (2 * width - 1) + dx + width - 1, p.head);
  });
  v.returns(lse);
}
