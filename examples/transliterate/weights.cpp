// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <string>

#include "attention.h"

namespace transliterate {

Weights::Weights(const std::filesystem::path& file, std::int64_t vocabulary_size)
    : vocabulary(vocabulary_size), file_(file) {
  const auto dense = [&](const std::string& name, const std::string& kind, std::int64_t inputs,
                         std::int64_t outputs, bool bias = true) {
    Dense layer;
    layer.inputs = inputs;
    layer.outputs = outputs;
    layer.weight = file_.f32(name + ".weight" + kind, {outputs, inputs});
    if (bias) layer.bias = file_.f32(name + ".bias" + kind, {outputs});
    return layer;
  };
  const auto gru = [&](const std::string& name, const std::string& layer, std::int64_t inputs,
                       std::int64_t size) {
    return Gru{dense(name, "_ih" + layer, inputs, 3 * size),
               dense(name, "_hh" + layer, size, 3 * size)};
  };
  embedding = file_.f32("embedding.weight", {vocabulary, kFeatures});
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string suffix = "_l" + std::to_string(layer);
    encoder[layer][kForward] = gru("encoder", suffix, kFeatures, kFeatures / 2);
    encoder[layer][kBackward] = gru("encoder", suffix + "_reverse", kFeatures, kFeatures / 2);
    decoder[layer] = gru("decoder", suffix, kFeatures, kFeatures);
  }
  bridge = dense("bridge", "", kFeatures, kFeatures);
  query = dense("attn_q", "", kFeatures, kFeatures, false);
  combine = dense("combine", "", 2 * kFeatures, kFeatures);
  output = dense("out", "", kFeatures, vocabulary);
}

}  // namespace transliterate
