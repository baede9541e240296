// gated_output.cpp: a gate on the output.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gated_output, v) {
  auto gate = v.table<float>("gate", {axis::batch, axis::head, axis::row, axis::value_feature});
  gate.describe("(batch, head, query row, feature): the output is multiplied by its sigmoid")
      .example(example::scattered(-3, 3));
  v.summary("causal with the output multiplied by a sigmoid gate: gated attention, Qwen3-Next");
  v.source("Qiu et al. 2025, Gated Attention for Large Language Models, arXiv:2505.06708");
  v.family("transform");
  v.note("the gate comes from a projection of the layer's input, before this call");
  v.output([=](const Row& row, Expr d, const Position& p) {
    return row(d) * sigmoid(gate(p.batch, p.head, p.row, d));
  });
  v.keep(masks::causal());
  v.returns(lse);
}
