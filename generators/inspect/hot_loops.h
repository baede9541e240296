// hot_loops.h: what the innermost loops of a kernel with multiply-adds consist of, from its
// disassembly. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_INSPECT_HOT_LOOPS_H
#define FOVEA_GENERATORS_INSPECT_HOT_LOOPS_H

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

struct Instruction {
  uint64_t address = 0;
  std::string mnemonic, operands;
};

struct DisassembledFunction {
  std::string name;
  std::vector<Instruction> body;
  std::vector<std::string> calls;  // one name for each call; of calls through a register "*"
};

// The text is that of llvm-objdump -d --no-show-raw-insn, with -r if calls are to have names.
std::vector<DisassembledFunction> functions_of(const std::string& disassembly);

struct Loop {
  std::vector<Instruction> body;
  int64_t multiply_adds = 0;
  int64_t spills = 0;
  int64_t masked_multiply_adds = 0;
  int64_t pairs = 0;     // multiply-adds of pairs of 16-bit numbers
  int vector_bytes = 0;  // of the widest multiply-add
};

// The innermost loops that hold a multiply-add (mulps on SSE, which has none; fmla on Arm).
std::vector<Loop> hot_loops(const DisassembledFunction& function);

// A loop for an assembler: all of it, and its multiply-adds alone. Of Arm; jumps lead nowhere.
struct LoopText {
  std::string all, multiply_adds;
};
LoopText loop_text(const Loop& loop);

// Sums over those of all functions.
struct HotLoops {
  int64_t loops = 0;
  int64_t instructions = 0;
  int64_t multiply_adds = 0;
  // Vector operands in the stack frame at a constant place: registers have run out.
  int64_t spills = 0;
  // A multiply-add under a mask register is one that LLVM has merged with a select.
  int64_t masked_multiply_adds = 0;
};

HotLoops hot_loops(const std::string& disassembly);

}  // namespace fovea

#endif
