// The layers of the model, with the weights of its file.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "layers.h"
#include "safetensors.h"

namespace transliterate {

constexpr int kLayers = 2;
// Both directions of the encoder have half of the features.
enum Direction { kForward, kBackward, kDirections };

class Weights {
 public:
  Weights(const std::filesystem::path& file, std::int64_t vocabulary);

  std::int64_t vocabulary = 0;
  const float* embedding = nullptr;  // [vocabulary, kFeatures], of source and target alike
  Gru encoder[kLayers][kDirections];
  Dense bridge;  // from the mean of the memory to the decoder's first state
  Gru decoder[kLayers];
  Dense query;    // of attention, from the decoder's state
  Dense combine;  // state and context
  Dense output;

 private:
  Safetensors file_;
};

}  // namespace transliterate
