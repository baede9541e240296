// prefix_lm.cpp: a prefix in both directions, the rest causal.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(prefix_lm, v) {
  auto prefix = v.table<int>("prefix", {axis::batch});
  prefix.describe("keys of each sequence that all of its queries see")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        return static_cast<double>(s.kv_len / (4 + i[0] % 4));
      });
  v.summary("a prefix that is seen in both directions, then causal: prefix-LM, UniLM, PaliGemma");
  v.source(
      "Raffel et al. 2020, arXiv:1910.10683, section 3.2.1; Dong et al. 2019, UniLM, "
      "arXiv:1905.03197");
  v.family("basic");
  v.keep(masks::prefix_lm([=](const Position& p) { return prefix(p.batch); }));
  v.returns(lse);
}
