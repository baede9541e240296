// SPDX-License-Identifier: Apache-2.0
#include <HalideBuffer.h>
#include <HalideRuntime.h>
#include <frame_attention.h>
#include <text_attention.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "doubling.h"
#include "plain_attention.h"

namespace {

int text(int q, int k) { return k <= q; }
int frame(int q, int k) { return k / 8 <= q / 8; }

std::atomic<int> mallocs{0};
std::atomic<int> loops{0};

void* counted_malloc(void*, size_t size) {
  ++mallocs;
  return std::aligned_alloc(128, (size + 127) / 128 * 128 + 128);
}
void counted_free(void*, void* memory) { std::free(memory); }
int counted_loop(void* context, halide_task_t task, int min, int size, uint8_t* closure) {
  ++loops;
  for (int i = min; i < min + size; ++i) task(context, i, closure);
  return 0;
}

// The other user of Halide, with settings of its own in its runtime.
int run_doubling() {
  Halide::Runtime::Buffer<float, 2> in(64, 9), out(64, 9);
  in.fill(3);
  const int before = mallocs, loops_before = loops;
  if (doubling(in, out) != 0 || out(5, 5) != 6) return std::printf("doubling is wrong\n");
  if (mallocs == before || loops == loops_before)
    return std::printf("doubling lost its settings\n");
  return 0;
}

}  // namespace

int main() {
  halide_set_custom_malloc(counted_malloc);
  halide_set_custom_free(counted_free);
  halide_set_custom_do_par_for(counted_loop);
  int failures = run_doubling() != 0 ? 1 : 0;
  const int mallocs_before = mallocs, loops_before = loops;

  plain_problem p = plain_make(32, 32);
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.threads = 3;
  fovea_call call = plain_call(&p);
  call.exec = &exec;
  // Twice and in turns: neither library may leave something behind that the other one reads.
  for (int i = 0; i < 2; ++i) {
    failures += plain_report("causal of text", text_attention_causal(&call, nullptr), &p, text);
    failures += plain_report("causal of frame", frame_attention_causal(&call, nullptr), &p, frame);
  }
  plain_free(&p);
  if (mallocs != mallocs_before || loops != loops_before) {
    std::printf("attention ran with the settings of another library\n");
    ++failures;
  }
  return failures + (run_doubling() != 0 ? 1 : 0);
}
