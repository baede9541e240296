// longformer_4096.cpp: Longformer, base and large.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(longformer_4096, v) {
  auto is_global = v.table<bool>("is_global", {axis::batch, axis::position});
  auto length = v.table<int>("length", {axis::batch});
  is_global.describe("true where the token sees all and is seen by all")
      .example(
          [](const ExampleShape&, const std::vector<int64_t>& i) { return i[1] == 0 ? 1.0 : 0.0; });
  length.describe("valid tokens of each sequence").example(example::length());
  v.summary("Longformer 4096: 256 tokens to either side, global tokens, padding");
  v.source("Beltagy et al. 2020, Longformer, arXiv:2004.05150 (longformer-base-4096)");
  v.family("model");
  v.note("global tokens have projections of their own in the model, before this call");
  v.keep(masks::window(256, 256) | masks::global_tokens(is_global));
  v.keep(masks::padding([=](const Position& p) { return length(p.batch); }));
  v.returns(lse);
}
