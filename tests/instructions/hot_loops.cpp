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
  if (m == "mulps" || m == "vdpbf16ps") return true;
  const bool fused = starts_with(m, "vfmadd") || starts_with(m, "vfmsub") ||
                     starts_with(m, "vfnmadd") || starts_with(m, "vfnmsub");
  return fused && m.size() > 2 && m.compare(m.size() - 2, 2, "ps") == 0;
}

// Names a vector register and memory at a constant distance from the stack or frame pointer.
bool is_spill(const Instruction& i) {
  const bool has_vector = i.operands.find("mm") != std::string::npos;
  return has_vector && (i.operands.find("(%rsp)") != std::string::npos ||
                        i.operands.find("(%rbp)") != std::string::npos);
}

void add_function(const std::vector<Instruction>& body, HotLoops* sums) {
  if (body.empty()) return;
  std::map<uint64_t, uint64_t> loops;  // first to last address
  for (const Instruction& i : body) {
    if (i.mnemonic[0] != 'j') continue;
    const uint64_t target = std::strtoull(i.operands.c_str(), nullptr, 16);
    if (target > i.address || target < body.front().address) continue;
    uint64_t& last = loops[target];
    last = std::max(last, i.address);
  }
  for (auto loop = loops.begin(); loop != loops.end(); ++loop) {
    // Loops are sorted by their start: the next one, if any, is the first that may lie inside.
    const auto next = std::next(loop);
    if (next != loops.end() && next->first <= loop->second) continue;
    HotLoops one;
    one.loops = 1;
    for (const Instruction& i : body) {
      if (i.address < loop->first || i.address > loop->second) continue;
      ++one.instructions;
      if (is_spill(i)) ++one.spills;
      if (!is_multiply_add(i)) continue;
      ++one.multiply_adds;
      if (i.operands.find("{%k") != std::string::npos) ++one.masked_multiply_adds;
    }
    if (one.multiply_adds == 0) continue;
    sums->loops += one.loops;
    sums->instructions += one.instructions;
    sums->multiply_adds += one.multiply_adds;
    sums->spills += one.spills;
    sums->masked_multiply_adds += one.masked_multiply_adds;
  }
}

}  // namespace

HotLoops hot_loops(const std::string& disassembly) {
  HotLoops sums;
  std::vector<Instruction> body;
  std::istringstream lines(disassembly);
  std::string line;
  Instruction instruction;
  while (std::getline(lines, line)) {
    if (parse_instruction(line, &instruction)) {
      body.push_back(instruction);
    } else if (line.size() > 2 && line.compare(line.size() - 2, 2, ">:") == 0) {
      // A function begins; sections of an object all count from 0.
      add_function(body, &sums);
      body.clear();
    }
  }
  add_function(body, &sums);
  return sums;
}

}  // namespace fovea::test
