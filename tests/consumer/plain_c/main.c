/* SPDX-License-Identifier: Apache-2.0
 * A C99 program that knows nothing but my_attention.h, fovea.h and libmy_attention.a. */
#include <my_attention.h>

#include "plain_attention.h"

static int causal(int q, int k) { return k <= q; }

int main(void) {
  plain_problem p = plain_make(32, 32);
  const fovea_call call = plain_call(&p);
  int failures = plain_report("causal from C99", my_attention_causal(&call, NULL), &p, causal);
  const fovea_partial part = {call.out, call.lse};
  failures += fovea_merge(NULL, 0, &part, NULL) != FOVEA_OK || *(const float*)call.out.data != 0;
  plain_free(&p);
  return failures;
}
