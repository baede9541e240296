// prefill_table.h: a program that measures prefill kernels of one library.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PREFILL_TABLE_H
#define FOVEA_BENCH_PREFILL_TABLE_H

#include <fovea/registry.h>

#include <map>
#include <string>
#include <vector>

namespace fovea::bench {

// What is measured, and the defaults of the program's options. All cases and the peak are measured
// in turn, round after round, so that whatever else the machine does hits all of them.
struct PrefillTable {
  const fovea_library_info* library = nullptr;
  std::string program, summary;
  std::vector<std::string> variants, targets, shapes;
  std::vector<int> threads = {1, 2};
  std::map<std::string, double> settings;
  int rounds = 15;
  bool json = false;
};

int prefill_table_main(PrefillTable table, int argc, char** argv);

}  // namespace fovea::bench

#endif
