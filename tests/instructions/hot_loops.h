// hot_loops.h: what the innermost loops of a kernel with multiply-adds consist of, from its
// disassembly. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_INSTRUCTIONS_HOT_LOOPS_H
#define FOVEA_TESTS_INSTRUCTIONS_HOT_LOOPS_H

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::test {

// Sums over the innermost loops that hold a multiply-add (mulps on SSE, which has none; fmla on
// Arm).
struct HotLoops {
  int64_t loops = 0;
  int64_t instructions = 0;
  int64_t multiply_adds = 0;
  // Vector operands in the stack frame at a constant place: registers have run out.
  int64_t spills = 0;
  // A multiply-add under a mask register is one that LLVM has merged with a select.
  int64_t masked_multiply_adds = 0;
};

// The text is that of llvm-objdump -d --no-show-raw-insn.
HotLoops hot_loops(const std::string& disassembly);

// One of those loops, for an assembler: all of it, and its multiply-adds alone. Of Arm; jumps lead
// nowhere.
struct LoopText {
  HotLoops counts;
  std::string all, multiply_adds;
};
std::vector<LoopText> loop_texts(const std::string& disassembly);

}  // namespace fovea::test

#endif
