// link_kernels.h: one object of all kernels of a library.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_LINK_KERNELS_H
#define FOVEA_GENERATORS_EMIT_LINK_KERNELS_H

#include <filesystem>
#include <string>
#include <vector>

namespace fovea {

struct KernelLink {
  std::string library;
  std::filesystem::path folder;                // receives <library>_kernels.o
  std::string target;                          // of one of the kernels, as Halide writes it
  std::string linker, objcopy;                 // for objects of that target
  std::vector<std::filesystem::path> objects;  // of kernels
  std::vector<std::string> symbols;            // functions of theirs that the registry names
  std::vector<std::filesystem::path> made_by;  // programs that decide the result
};

// All objects and one Halide runtime. The kernels take their memory from the worker's scratch;
// every symbol but `symbols` becomes local, so that neither another generated library nor another
// user of Halide in the same program shares anything with it by accident. Nothing is done when the
// result is newer than all that it is made from and by. Throws std::runtime_error when a tool
// fails.
void link_kernels(const KernelLink& link);

}  // namespace fovea

#endif
