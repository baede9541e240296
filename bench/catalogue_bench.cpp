// catalogue_bench.cpp: every shipped variant beside the plain kernel and the FMA peak.
// SPDX-License-Identifier: Apache-2.0
#include <fovea_bench_catalogue.h>

#include "bench/prefill_table.h"

int main(int argc, char** argv) {
  fovea::bench::PrefillTable table;
  table.library = fovea_bench_catalogue_library();
  table.program = "fovea_catalogue_bench";
  table.summary = "rates of every variant of the catalogue with its example parameters";
  table.variants = {"all"};
  table.shapes = {"d=64"};
  table.threads = {1};
  table.rounds = 5;
  return fovea::bench::prefill_table_main(table, argc, argv);
}
