// doubling_generator.cpp: a user of Halide that has nothing to do with fovea: a static library with
// a runtime of its own, memory from its heap and a parallel loop.
// SPDX-License-Identifier: Apache-2.0
#include <Halide.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Halide::ImageParam in(Halide::Float(32), 2, "in");
  Halide::Var x("x"), y("y");
  Halide::Func sum("sum"), doubling("doubling");
  sum(x, y) = in(x, y) + in(x, y);
  doubling(x, y) = sum(x, y);
  sum.compute_root().store_in(Halide::MemoryType::Heap);
  doubling.parallel(y);
  doubling.compile_to_static_library(argv[1], {in}, "doubling",
                                     Halide::Target("x86-64-linux-sse41"));
  return 0;
}
