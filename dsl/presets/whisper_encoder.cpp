// whisper_encoder.cpp: Whisper, encoder.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(whisper_encoder, v) {
  v.summary("Whisper encoder: every frame sees every frame");
  v.source("Radford et al. 2022, Whisper, arXiv:2212.04356");
  v.family("model");
  v.note("the decoder is gpt2, with cross-attention of the kind of stable_diffusion_cross");
  v.returns(lse);
}
