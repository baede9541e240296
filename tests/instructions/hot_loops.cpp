// hot_loops.cpp: loops are backward jumps within a function.
// SPDX-License-Identifier: Apache-2.0
#include "hot_loops.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

namespace fovea::test {
namespace {

struct Instruction {
  uint64_t address = 0;
  std::string mnemonic, operands;
};

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// "  1f0:  \tvmovups\t(%rax), %zmm0"; false for lines that hold no instruction.
bool parse_instruction(const std::string& line, Instruction* instruction) {
  const size_t colon = line.find(':');
  if (line.empty() || line[0] != ' ' || colon == std::string::npos) return false;
  char* end = nullptr;
  instruction->address = std::strtoull(line.c_str(), &end, 16);
  if (end != line.c_str() + colon) return false;
  std::istringstream rest(line.substr(colon + 1));
  instruction->operands.clear();
  if (!(rest >> instruction->mnemonic)) return false;
  std::getline(rest >> std::ws, instruction->operands);
  return true;
}

bool is_multiply_add(const Instruction& i) {
  const std::string& m = i.mnemonic;
  if (m == "mulps" || m == "vdpbf16ps" || m == "fmla" || m == "fmls") return true;
  const bool fused = starts_with(m, "vfmadd") || starts_with(m, "vfmsub") ||
                     starts_with(m, "vfnmadd") || starts_with(m, "vfnmsub");
  return fused && m.size() > 2 && m.compare(m.size() - 2, 2, "ps") == 0;
}

// Names a vector register and memory at a constant distance from the stack or frame pointer.
bool is_spill(const Instruction& i) {
  const std::string& o = i.operands;
  const bool on_arm = starts_with(i.mnemonic, "ld") || starts_with(i.mnemonic, "st");
  if (on_arm && starts_with(o, "q")) {
    const bool in_frame = o.find("[sp") != std::string::npos || o.find("[x29") != std::string::npos;
    return in_frame && (o.find('#') != std::string::npos || o.find("[sp]") != std::string::npos);
  }
  return o.find("mm") != std::string::npos &&
         (o.find("(%rsp)") != std::string::npos || o.find("(%rbp)") != std::string::npos);
}

// j… on x86; b, b.…, cbz, cbnz, tbz, tbnz on Arm.
bool is_jump(const Instruction& i) {
  const std::string& m = i.mnemonic;
  return m[0] == 'j' || m == "b" || starts_with(m, "b.") || starts_with(m, "cbz") ||
         starts_with(m, "cbnz") || starts_with(m, "tbz") || starts_with(m, "tbnz");
}

// Where "0x10 <kernel+0x10>" stands among the operands of a jump: last.
size_t target_place(const std::string& operands) {
  const size_t comma = operands.substr(0, operands.find('<')).rfind(", ");
  return comma == std::string::npos ? 0 : comma + 2;
}

// The innermost loops of a function, each with at least one multiply-add.
std::vector<std::vector<Instruction>> innermost_loops(const std::vector<Instruction>& body) {
  std::map<uint64_t, uint64_t> loops;  // first to last address
  for (const Instruction& i : body) {
    if (!is_jump(i)) continue;
    const uint64_t target =
        std::strtoull(i.operands.c_str() + target_place(i.operands), nullptr, 16);
    if (target > i.address || target < body.front().address) continue;
    uint64_t& last = loops[target];
    last = std::max(last, i.address);
  }
  std::vector<std::vector<Instruction>> found;
  for (auto loop = loops.begin(); loop != loops.end(); ++loop) {
    // Loops are sorted by their start: the next one, if any, is the first that may lie inside.
    const auto next = std::next(loop);
    if (next != loops.end() && next->first <= loop->second) continue;
    std::vector<Instruction> one;
    for (const Instruction& i : body) {
      if (i.address >= loop->first && i.address <= loop->second) one.push_back(i);
    }
    if (std::any_of(one.begin(), one.end(), is_multiply_add)) found.push_back(std::move(one));
  }
  return found;
}

HotLoops counted(const std::vector<Instruction>& loop) {
  HotLoops one;
  one.loops = 1;
  one.instructions = static_cast<int64_t>(loop.size());
  for (const Instruction& i : loop) {
    if (is_spill(i)) ++one.spills;
    if (!is_multiply_add(i)) continue;
    ++one.multiply_adds;
    if (i.operands.find("{%k") != std::string::npos) ++one.masked_multiply_adds;
  }
  return one;
}

// Functions of an object; sections of an object all count their addresses from 0.
std::vector<std::vector<Instruction>> functions_of(const std::string& disassembly) {
  std::vector<std::vector<Instruction>> functions;
  std::istringstream lines(disassembly);
  std::string line;
  Instruction instruction;
  while (std::getline(lines, line)) {
    if (parse_instruction(line, &instruction)) {
      if (functions.empty()) functions.emplace_back();
      functions.back().push_back(instruction);
    } else if (line.size() > 2 && line.compare(line.size() - 2, 2, ">:") == 0) {
      functions.emplace_back();
    }
  }
  return functions;
}

}  // namespace

HotLoops hot_loops(const std::string& disassembly) {
  HotLoops sums;
  for (const std::vector<Instruction>& function : functions_of(disassembly)) {
    for (const std::vector<Instruction>& loop : innermost_loops(function)) {
      const HotLoops one = counted(loop);
      sums.loops += one.loops;
      sums.instructions += one.instructions;
      sums.multiply_adds += one.multiply_adds;
      sums.spills += one.spills;
      sums.masked_multiply_adds += one.masked_multiply_adds;
    }
  }
  return sums;
}

std::vector<LoopText> loop_texts(const std::string& disassembly) {
  std::vector<LoopText> texts;
  for (const std::vector<Instruction>& function : functions_of(disassembly)) {
    for (const std::vector<Instruction>& loop : innermost_loops(function)) {
      LoopText text;
      text.counts = counted(loop);
      for (const Instruction& i : loop) {
        std::string operands = i.operands;
        if (is_jump(i)) operands = operands.substr(0, target_place(operands)) + "#0";
        const std::string line = i.mnemonic + " " + operands + "\n";
        text.all += line;
        if (is_multiply_add(i)) text.multiply_adds += line;
      }
      texts.push_back(text);
    }
  }
  return texts;
}

}  // namespace fovea::test
