// SPDX-License-Identifier: Apache-2.0
#include <model_attention.h>

#include "plain_attention.h"

namespace {
int causal(int q, int k) { return k <= q; }
}  // namespace

extern "C" __attribute__((visibility("default"))) int model_run() {
  plain_problem p = plain_make(32, 32);
  const fovea_call call = plain_call(&p);
  const int failures = plain_report("causal in a shared library",
                                    model_attention_causal(&call, nullptr), &p, causal);
  plain_free(&p);
  return failures;
}
