// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <fovea/dsl/rope_frequencies.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace generate {
namespace {

void require_ok(const char* what, fovea_status status) {
  if (status == FOVEA_OK) return;
  throw std::runtime_error(std::string(what) + ": " + fovea_status_name(status) + ": " +
                           fovea_last_message());
}

// Some heads of every row; [batch, head, row, feature]. The interface has one tensor type for
// inputs and outputs; inputs are not written.
fovea_tensor heads_of(const float* data, std::int64_t first, std::int64_t count,
                      std::int64_t row_heads, const Projections& p) {
  const std::int64_t row = row_heads * p.head_dim;
  return {const_cast<float*>(data) + first * p.head_dim,
          FOVEA_F32,
          {1, count, p.tokens, p.head_dim},
          {p.tokens * row, p.head_dim, row, 1}};
}

}  // namespace

Attention::Attention(const AttentionShape& shape, std::int32_t window, std::int32_t sinks,
                     int threads) {
  const fovea::RopeFrequencies rope = fovea::rope_plain(shape.head_dim, shape.rope_base);
  for (std::int64_t position = 0; position < shape.context; ++position) {
    for (const double frequency : rope.frequency) {
      const double angle = static_cast<double>(position) * frequency;
      cosine_.push_back(static_cast<float>(std::cos(angle)));
      sine_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  const std::int64_t pairs = shape.head_dim / 2;
  params_.cosine = {cosine_.data(), {shape.context, pairs, 0, 0}, {pairs, 1, 0, 0}};
  params_.sine = {sine_.data(), {shape.context, pairs, 0, 0}, {pairs, 1, 0, 0}};
  params_.window = window == 0 ? static_cast<std::int32_t>(shape.context) : window;
  params_.sinks = sinks;
  exec_.size = sizeof(exec_);
  exec_.threads = threads;
}

// The keys are turned to their positions on the way in, and never again.
void Attention::append_(const Projections& p, const KvCache& cache, std::int64_t layer) {
  const std::int32_t held = cache.length();
  const std::int64_t row_heads = p.heads + 2 * p.kv_heads;
  const KvCache::Layer& memory = cache.layer(layer);
  fovea_append append = {};
  append.size = sizeof(append);
  append.k_new = heads_of(p.data, p.heads, p.kv_heads, row_heads, p);
  append.v_new = heads_of(p.data, p.heads + p.kv_heads, p.kv_heads, row_heads, p);
  append.kv_len = &held;
  append.k = memory.k;
  append.v = memory.v;
  append.cache = &memory.layout;
  append.exec = &exec_;
  require_ok("append", generate_attention_rotary_append(&append, &params_));
}

void Attention::run(const Projections& p, const KvCache* cache, std::int64_t layer, float* out) {
  const std::int64_t row_heads = p.heads + 2 * p.kv_heads;
  fovea_call call = {};
  call.size = sizeof(call);
  call.q = heads_of(p.data, 0, p.heads, row_heads, p);
  call.out = heads_of(out, 0, p.heads, p.heads, p);
  call.exec = &exec_;
  std::int32_t keys = 0;
  if (cache == nullptr) {
    // Views straight into the projections: no transposition, no packing.
    call.k = heads_of(p.data, p.heads, p.kv_heads, row_heads, p);
    call.v = heads_of(p.data, p.heads + p.kv_heads, p.kv_heads, row_heads, p);
  } else {
    append_(p, *cache, layer);
    keys = cache->length() + static_cast<std::int32_t>(p.tokens);
    call.k = cache->layer(layer).k;
    call.v = cache->layer(layer).v;
    call.cache = &cache->layer(layer).layout;
    call.kv_len = &keys;  // the queries are the last of them: q_offset needs no saying
  }

  const std::size_t needed = generate_attention_rotary_workspace(&call);
  if (needed > workspace_.size()) workspace_.resize(needed);
  call.workspace = workspace_.data();
  call.workspace_size = workspace_.size();
  if (explain_ && p.tokens != explained_tokens_) explain_call_(call);
  explained_tokens_ = p.tokens;
  require_ok("attention", generate_attention_rotary(&call, &params_));
}

void Attention::explain_call_(const fovea_call& call) {
  char text[4096] = "";
  require_ok("explain", generate_attention_rotary_explain(&call, text, sizeof(text)));
  // The last part of a prompt may be short and take another pass; most calls are as the last one.
  if (std::find(explanations_.begin(), explanations_.end(), text) == explanations_.end())
    explanations_.emplace_back(text);
}

}  // namespace generate
