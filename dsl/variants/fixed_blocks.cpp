// fixed_blocks.cpp: the fixed pattern of the Sparse Transformer.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(fixed_blocks, v) {
  auto stride = v.scalar<int>("stride").at_least(1);
  auto summary = v.scalar<int>("summary").at_least(0);
  stride.describe("positions of a block").example(128);
  summary.describe("positions at the end of a block that all later queries see").example(8);
  v.summary("the own block, and the end of each block before: Sparse Transformer, fixed");
  v.source(
      "Child et al. 2019, Generating Long Sequences with Sparse Transformers, arXiv:1904.10509");
  v.family("sparse");
  v.note("both factors of the published pattern as one mask (its merged heads)");
  v.keep(masks::fixed_blocks(stride, summary));
  v.returns(lse);
}
