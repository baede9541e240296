// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <stdexcept>

#include "transliterate_attention.hpp"

namespace transliterate {
namespace {

void require_ok(const fovea::Status& status) {
  if (status.ok()) return;
  throw std::runtime_error(std::string("attention: ") + status.name() + ": " + status.message());
}

}  // namespace

void SourceAttention::run(const Queries& queries, const Memory& memory, const Context& context) {
  // The hypotheses about a name are rows of one call on the same keys: the memory is neither copied
  // for each nor gathered anew when the beam changes its order.
  const fovea::Shape rows = {memory.names, 1, queries.per_name, kFeatures};
  const fovea::Shape source = {memory.names, 1, memory.tokens, kFeatures};
  const std::int64_t stride = context.stride;
  const fovea::Strides out = {queries.per_name * stride, queries.per_name * stride, stride, 1};
  fovea::Call call(fovea::tensor(queries.data, rows), fovea::tensor(memory.data, source),
                   fovea::tensor(memory.data, source), fovea::tensor(context.data, rows, out));
  call.scale = &queries.scale;
  call.exec = &exec_;
  if (context.weights != nullptr) {
    call.probabilities = fovea::probabilities_tensor(context.weights, memory.names, 1,
                                                     queries.per_name, memory.tokens);
  }
  const transliterate_attention_source_attention_params params = {
      fovea::table(memory.lengths.data(), memory.names)};

  const std::size_t needed = transliterate_attention_source_attention_workspace(&call);
  if (needed > workspace_.size()) workspace_.resize(needed);
  call.workspace = workspace_.data();
  call.workspace_size = workspace_.size();

  if (explain_ && explanation_.empty()) {
    char text[4096] = "";
    require_ok(
        fovea::Status(transliterate_attention_source_attention_explain(&call, text, sizeof(text))));
    explanation_ = text;
  }
  require_ok(transliterate_attention::source_attention::run(call, params));
}

}  // namespace transliterate
