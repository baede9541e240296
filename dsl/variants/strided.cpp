// strided.cpp: the strided pattern of the Sparse Transformer.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(strided, v) {
  auto stride = v.scalar<int>("stride").at_least(1);
  stride.describe("length of the local part, and distance between the keys before it").example(128);
  v.summary("the last `stride` tokens and every stride-th one before: Sparse Transformer");
  v.source(
      "Child et al. 2019, Generating Long Sequences with Sparse Transformers, arXiv:1904.10509");
  v.family("sparse");
  v.note("both factors of the published pattern as one mask (its merged heads)");
  v.keep(masks::strided(stride));
  v.returns(lse);
}
