/* plain_attention.h: one attention call on made-up numbers, and the same in plain loops to compare
 * with.
 *
 * Used by the consumer projects only; C99, so that the C program and the C++ programs share it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_TESTS_PLAIN_ATTENTION_H
#define FOVEA_TESTS_PLAIN_ATTENTION_H

#include <fovea/fovea.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Odd lengths and grouped heads: every kernel has a tail and more than one query head per KV head.
 */
enum { PLAIN_BATCH = 2, PLAIN_HEADS = 4, PLAIN_KV_HEADS = 2, PLAIN_ROWS = 77 };

typedef struct plain_problem {
  int d_qk, d_v;
  float *q, *k, *v, *out;
} plain_problem;

/* Non-zero: the key is visible to the query. */
typedef int (*plain_keep)(int q, int k);

static float* plain_numbers(size_t count, unsigned seed) {
  float* numbers = (float*)malloc(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = (float)(seed >> 8) / 8388608.0f - 1.0f; /* [-1, 1) */
  }
  return numbers;
}

static plain_problem plain_make(int d_qk, int d_v) {
  plain_problem p;
  p.d_qk = d_qk;
  p.d_v = d_v;
  p.q = plain_numbers((size_t)PLAIN_BATCH * PLAIN_HEADS * PLAIN_ROWS * (size_t)d_qk, 1);
  p.k = plain_numbers((size_t)PLAIN_BATCH * PLAIN_KV_HEADS * PLAIN_ROWS * (size_t)d_qk, 2);
  p.v = plain_numbers((size_t)PLAIN_BATCH * PLAIN_KV_HEADS * PLAIN_ROWS * (size_t)d_v, 3);
  p.out = plain_numbers((size_t)PLAIN_BATCH * PLAIN_HEADS * PLAIN_ROWS * (size_t)d_v, 4);
  return p;
}

static void plain_free(plain_problem* p) {
  free(p->q);
  free(p->k);
  free(p->v);
  free(p->out);
}

static fovea_tensor plain_tensor(float* data, int heads, int features) {
  fovea_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = FOVEA_F32;
  t.extent[0] = PLAIN_BATCH;
  t.extent[1] = heads;
  t.extent[2] = PLAIN_ROWS;
  t.extent[3] = features;
  t.stride[3] = 1;
  t.stride[2] = features;
  t.stride[1] = t.stride[2] * PLAIN_ROWS;
  t.stride[0] = t.stride[1] * heads;
  return t;
}

static fovea_call plain_call(const plain_problem* p) {
  fovea_call call;
  memset(&call, 0, sizeof call);
  call.size = (uint32_t)sizeof call;
  call.q = plain_tensor(p->q, PLAIN_HEADS, p->d_qk);
  call.k = plain_tensor(p->k, PLAIN_KV_HEADS, p->d_qk);
  call.v = plain_tensor(p->v, PLAIN_KV_HEADS, p->d_v);
  call.out = plain_tensor(p->out, PLAIN_HEADS, p->d_v);
  return call;
}

/* Largest difference between out and a plain evaluation in double. */
static double plain_error(const plain_problem* p, plain_keep keep) {
  double worst = 0;
  double* weight = (double*)malloc(PLAIN_ROWS * sizeof(double));
  for (int bh = 0; bh < PLAIN_BATCH * PLAIN_HEADS; ++bh) {
    const int kv =
        bh / PLAIN_HEADS * PLAIN_KV_HEADS + bh % PLAIN_HEADS / (PLAIN_HEADS / PLAIN_KV_HEADS);
    for (int q = 0; q < PLAIN_ROWS; ++q) {
      const float* q_row = p->q + ((size_t)bh * PLAIN_ROWS + (size_t)q) * (size_t)p->d_qk;
      const float* out_row = p->out + ((size_t)bh * PLAIN_ROWS + (size_t)q) * (size_t)p->d_v;
      double total = 0;
      for (int k = 0; k < PLAIN_ROWS; ++k) {
        const float* k_row = p->k + ((size_t)kv * PLAIN_ROWS + (size_t)k) * (size_t)p->d_qk;
        double score = 0;
        for (int d = 0; d < p->d_qk; ++d) score += (double)q_row[d] * k_row[d];
        /* Scores of these numbers stay below 20, so no maximum needs to be subtracted in double. */
        weight[k] = keep(q, k) ? exp(score / sqrt((double)p->d_qk)) : 0;
        total += weight[k];
      }
      for (int d = 0; d < p->d_v; ++d) {
        double sum = 0;
        for (int k = 0; k < PLAIN_ROWS; ++k)
          sum +=
              weight[k] * p->v[((size_t)kv * PLAIN_ROWS + (size_t)k) * (size_t)p->d_v + (size_t)d];
        const double error = fabs(out_row[d] - (total > 0 ? sum / total : 0));
        /* A NaN is an error too, and compares false with everything. */
        if (!(error <= worst)) worst = error;
      }
    }
  }
  free(weight);
  return worst;
}

/* Prints one line and returns 0 when the call succeeded and out is right. The bound is far above
 * f32 rounding (about 1e-6 here) and far below any wrong mask (about 0.1): these programs test
 * linking, not accuracy. */
static int plain_report(const char* name, fovea_status status, const plain_problem* p,
                        plain_keep keep) {
  if (status != FOVEA_OK) {
    printf("%s: %s: %s\n", name, fovea_status_name(status), fovea_last_message());
    return 1;
  }
  const double error = plain_error(p, keep);
  const int ok = error < 1e-4;
  printf("%s: largest error %.2e, %s\n", name, error, ok ? "right" : "WRONG");
  return !ok;
}

#endif
