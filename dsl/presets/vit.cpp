// vit.cpp: vision transformers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(vit, v) {
  v.summary("ViT: every patch sees every patch");
  v.source("Dosovitskiy et al. 2020, An Image is Worth 16x16 Words, arXiv:2010.11929");
  v.family("model");
  v.returns(lse);
}
