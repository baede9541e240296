// longformer.cpp: a window on both sides and global tokens anywhere.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(longformer, v) {
  auto reach = v.scalar<int>("reach").at_least(0);
  auto is_global = v.table<bool>("is_global", {axis::batch, axis::position});
  reach.describe("keys before and after the query's position that it sees").example(256);
  is_global.describe("true where the token sees all and is seen by all")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        return i[1] == 0 || i[1] == s.kv_len / 2 ? 1.0 : 0.0;
      });
  v.summary("a window on both sides; flagged tokens see all and are seen by all: Longformer");
  v.source("Beltagy et al. 2020, Longformer: The Long-Document Transformer, arXiv:2004.05150");
  v.family("sparse");
  v.note("the published window of w tokens is a reach of w / 2");
  v.note("the published model projects global tokens by matrices of their own, before this call");
  v.keep(masks::window(reach, reach) | masks::global_tokens(is_global));
  v.returns(lse);
}
