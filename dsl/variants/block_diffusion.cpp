// block_diffusion.cpp: training of block diffusion models: noised and clean halves.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(block_diffusion, v) {
  auto length = v.scalar<int>("length").at_least(1);
  auto block = v.scalar<int>("block").at_least(1);
  length.describe("tokens of each half").example([](const ExampleShape& s) {
    return static_cast<double>(std::max<int64_t>(1, s.kv_len / 2));
  });
  block.describe("tokens of a block").example(16);
  v.summary(
      "noised tokens, then the same clean: each block is denoised given the clean ones before");
  v.source("Arriola et al. 2025, Block Diffusion, arXiv:2503.09573, section 3");
  v.family("grid");
  v.keep(masks::block_diffusion(length, block));
  v.returns(lse);
}
