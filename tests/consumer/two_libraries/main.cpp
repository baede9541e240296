// SPDX-License-Identifier: Apache-2.0
#include <frame_attention.h>
#include <text_attention.h>

#include "plain_attention.h"

namespace {
int text(int q, int k) { return k <= q; }
int frame(int q, int k) { return k / 8 <= q / 8; }
}  // namespace

int main() {
  plain_problem p = plain_make(32, 32);
  const fovea_call call = plain_call(&p);
  int failures = 0;
  // Twice and in turns: neither library may leave something behind that the other one reads.
  for (int i = 0; i < 2; ++i) {
    failures += plain_report("causal of text", text_attention_causal(&call, nullptr), &p, text);
    failures += plain_report("causal of frame", frame_attention_causal(&call, nullptr), &p, frame);
  }
  plain_free(&p);
  return failures;
}
