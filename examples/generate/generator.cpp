// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

namespace generate {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint8_t most_probable(const std::vector<float>& logits) {
  return static_cast<std::uint8_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

Generated generate(const Transformer& model, CacheKind kind, const Settings& settings,
                   const Tokens& prompt, std::size_t count, const Tokens* forced) {
  Attention attention(model.attention_shape(), settings.window, settings.sinks, settings.threads);
  if (settings.explain) attention.keep_explanations();
  const std::size_t chunk = std::min(static_cast<std::size_t>(settings.chunk), prompt.size());
  std::optional<KvCache> cache;
  if (kind != CacheKind::None) {
    const ModelShape& s = model.shape();
    cache.emplace(kind, CacheShape{.layers = s.layers,
                                   .kv_heads = s.kv_heads,
                                   .head_dim = s.head_dim,
                                   .positions = static_cast<std::int64_t>(prompt.size() + count),
                                   .window = settings.window,
                                   .sinks = settings.sinks,
                                   .most_tokens_once = static_cast<std::int64_t>(chunk)});
  }

  Generated result;
  Tokens all = prompt;
  auto start = std::chrono::steady_clock::now();
  std::vector<float> logits;
  if (cache) {
    for (std::size_t at = 0; at < prompt.size(); at += chunk) {
      const std::size_t tokens = std::min(chunk, prompt.size() - at);
      logits = model.forward(std::span(prompt).subspan(at, tokens), &attention, &*cache);
    }
  } else {
    logits = model.forward(prompt, &attention, nullptr);
  }
  result.prefill_seconds = seconds_since(start);

  start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) {
      logits = cache ? model.forward(std::span(all).last(1), &attention, &*cache)
                     : model.forward(all, &attention, nullptr);
    }
    all.push_back(forced != nullptr ? forced->at(i) : most_probable(logits));
    result.logits.push_back(std::move(logits));
  }
  result.decode_seconds = seconds_since(start);
  result.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end());
  result.cache_bytes = cache ? cache->bytes() : 0;
  result.explanations = attention.explanations();
  return result;
}

}  // namespace generate
