// prefill_bench.cpp: the plain kernels beside the FMA peak.
// SPDX-License-Identifier: Apache-2.0
#include <fovea_bench_kernels.h>

#include "bench/prefill_table.h"

int main(int argc, char** argv) {
  fovea::bench::PrefillTable table;
  table.library = fovea_bench_kernels_library();
  table.program = "fovea_prefill_bench";
  table.summary =
      "rates of generated prefill kernels, beside the FMA peak measured in the same run";
  table.variants = {"full", "causal"};
  table.shapes = {"d=64", "d=128"};
  table.settings = {{"window", 1024}};
  return fovea::bench::prefill_table_main(table, argc, argv);
}
