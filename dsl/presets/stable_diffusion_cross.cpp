// stable_diffusion_cross.cpp: Stable Diffusion, cross-attention to the prompt.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(stable_diffusion_cross, v) {
  v.summary("Stable Diffusion: image tokens see the 77 tokens of the prompt");
  v.source("Rombach et al. 2021, Latent Diffusion Models, arXiv:2112.10752, section 3.3");
  v.family("model");
  v.note("q_len is the image, kv_len the prompt; the self-attention of the model is vit");
  v.returns(lse);
}
