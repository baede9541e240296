// SPDX-License-Identifier: Apache-2.0
// Calls every function of my_attention, through the C header and the C++ one, and compares with
// plain loops.
#include <my_attention.h>
#include <my_attention.hpp>

#include "plain_attention.h"

namespace {
constexpr int kWindow = 9;
int all(int, int) { return 1; }
int causal(int q, int k) { return k <= q; }
int recent(int q, int k) { return k <= q && q - k < kWindow; }
}  // namespace

int main() {
  int failures = 0;
  for (const int d_v : {32, 64}) {
    plain_problem p = plain_make(32, d_v);
    const fovea_call call = plain_call(&p);
    failures += plain_report("causal", my_attention_causal(&call, nullptr), &p, causal);
    my_attention_recent_params params{};
    params.window = kWindow;
    failures += plain_report("recent", my_attention_recent(&call, &params), &p, recent);
    failures += plain_report("full", my_attention_full(&call, nullptr), &p, all);
    plain_free(&p);
  }
  // A head size that was not built is an answer, not a crash.
  plain_problem p = plain_make(48, 48);
  const fovea_call call = plain_call(&p);
  const fovea_status status = my_attention_causal(&call, nullptr);
  std::printf("d = 48: %s: %s\n", fovea_status_name(status), fovea_last_message());
  failures += status != FOVEA_UNSUPPORTED;
  plain_free(&p);
  return failures;
}
