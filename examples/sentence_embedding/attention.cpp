// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <sentence_attention.h>

#include <stdexcept>

namespace sentence_embedding {
namespace {

void require_ok(fovea_status status) {
  if (status == FOVEA_OK) return;
  throw std::runtime_error(std::string("attention: ") + fovea_status_name(status) + ": " +
                           fovea_last_message());
}

// [batch, head, row, feature] over rows that are row_stride elements apart. The interface has one
// tensor type for inputs and outputs; inputs are not written.
fovea_tensor view(const float* data, const Projections& p, std::int64_t row_stride) {
  return {const_cast<float*>(data),
          FOVEA_F32,
          {p.batch, p.heads, p.tokens, p.head_dim},
          {p.tokens * row_stride, p.head_dim, row_stride, 1}};
}

}  // namespace

SelfAttention::SelfAttention(int threads) {
  exec_.size = sizeof(exec_);
  exec_.threads = threads;
}

void SelfAttention::run(const Projections& projections, const std::vector<std::int32_t>& lengths,
                        float* out) {
  const std::int64_t width = projections.heads * projections.head_dim;
  fovea_call call = {};
  call.size = sizeof(call);
  // Views straight into the projections: no transposition, no packing, no mask tensor.
  call.q = view(projections.data, projections, 3 * width);
  call.k = view(projections.data + width, projections, 3 * width);
  call.v = view(projections.data + 2 * width, projections, 3 * width);
  call.out = view(out, projections, width);
  // Rows behind a sentence's end are not computed. Keys behind it are the declaration's business:
  // its `length` table.
  call.q_len = lengths.data();
  call.exec = &exec_;

  sentence_attention_padded_self_attention_params params = {};
  params.length = {lengths.data(), {projections.batch, 0, 0, 0}, {1, 0, 0, 0}};

  const std::size_t needed = sentence_attention_padded_self_attention_workspace(&call);
  if (needed > workspace_.size()) workspace_.resize(needed);
  call.workspace = workspace_.data();
  call.workspace_size = workspace_.size();

  if (explain_) {
    char text[4096] = "";
    require_ok(sentence_attention_padded_self_attention_explain(&call, text, sizeof(text)));
    explanation_ = text;
  }
  require_ok(sentence_attention_padded_self_attention(&call, &params));
}

}  // namespace sentence_embedding
