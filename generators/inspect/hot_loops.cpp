// hot_loops.cpp: loops are backward jumps within a function.
// SPDX-License-Identifier: Apache-2.0
#include "generators/inspect/hot_loops.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

namespace fovea {
namespace {

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

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

bool is_call(const Instruction& i) { return starts_with(i.mnemonic, "call") || i.mnemonic == "bl"; }

// "\t\t00000000000000e0:  R_X86_64_PLT32\tmemset-0x4" names what the call before it calls.
std::string relocated_name(const std::string& line) {
  const size_t kind = line.find("R_");
  if (kind == std::string::npos || line.empty() || line[0] != '\t') return "";
  std::istringstream words(line.substr(kind));
  std::string type, symbol;
  words >> type >> symbol;
  return symbol.substr(0, symbol.find_first_of("+-"));
}

// "0x1f0 <memset+0x10>"
std::string named_operand(const Instruction& i) {
  const size_t open = i.operands.find('<'), close = i.operands.rfind('>');
  if (open == std::string::npos || close == std::string::npos) return "*";
  const std::string name = i.operands.substr(open + 1, close - open - 1);
  return name.substr(0, name.find("+0x"));
}

bool is_pair_product(const std::string& m) { return m == "vdpbf16ps" || m == "bfdot"; }

bool is_multiply_add(const Instruction& i) {
  const std::string& m = i.mnemonic;
  if (m == "mulps" || m == "fmla" || m == "fmls" || is_pair_product(m)) return true;
  const bool fused = starts_with(m, "vfmadd") || starts_with(m, "vfmsub") ||
                     starts_with(m, "vfnmadd") || starts_with(m, "vfnmsub");
  return fused && m.size() > 2 && m.compare(m.size() - 2, 2, "ps") == 0;
}

int vector_bytes(const Instruction& i) {
  if (contains(i.operands, "%zmm")) return 64;
  if (contains(i.operands, "%ymm")) return 32;
  return 16;
}

// Names a vector register and memory at a constant distance from the stack or frame pointer.
bool is_spill(const Instruction& i) {
  const std::string& o = i.operands;
  const bool on_arm = starts_with(i.mnemonic, "ld") || starts_with(i.mnemonic, "st");
  if (on_arm && starts_with(o, "q")) {
    const bool in_frame = contains(o, "[sp") || contains(o, "[x29");
    return in_frame && (contains(o, "#") || contains(o, "[sp]"));
  }
  return contains(o, "mm") && (contains(o, "(%rsp)") || contains(o, "(%rbp)"));
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

}  // namespace

std::vector<DisassembledFunction> functions_of(const std::string& disassembly) {
  std::vector<DisassembledFunction> functions;
  std::istringstream lines(disassembly);
  std::string line;
  Instruction instruction;
  while (std::getline(lines, line)) {
    if (parse_instruction(line, &instruction)) {
      if (functions.empty()) functions.emplace_back();
      functions.back().body.push_back(instruction);
      if (is_call(instruction)) functions.back().calls.push_back(named_operand(instruction));
    } else if (line.size() > 2 && line.compare(line.size() - 2, 2, ">:") == 0) {
      // A function begins; sections of an object all count from 0.
      functions.emplace_back();
      const size_t open = line.find('<');
      functions.back().name = line.substr(open + 1, line.size() - 3 - open);
    } else if (!functions.empty() && !functions.back().body.empty() &&
               is_call(functions.back().body.back())) {
      if (const std::string name = relocated_name(line); !name.empty())
        functions.back().calls.back() = name;
    }
  }
  return functions;
}

std::vector<Loop> hot_loops(const DisassembledFunction& function) {
  const std::vector<Instruction>& body = function.body;
  std::vector<Loop> hot;
  if (body.empty()) return hot;
  std::map<uint64_t, uint64_t> loops;  // first to last address
  for (const Instruction& i : body) {
    if (!is_jump(i)) continue;
    const uint64_t target =
        std::strtoull(i.operands.c_str() + target_place(i.operands), nullptr, 16);
    if (target > i.address || target < body.front().address) continue;
    uint64_t& last = loops[target];
    last = std::max(last, i.address);
  }
  for (auto loop = loops.begin(); loop != loops.end(); ++loop) {
    // Loops are sorted by their start: the next one, if any, is the first that may lie inside.
    const auto next = std::next(loop);
    if (next != loops.end() && next->first <= loop->second) continue;
    Loop one;
    for (const Instruction& i : body) {
      if (i.address < loop->first || i.address > loop->second) continue;
      one.body.push_back(i);
      if (is_spill(i)) ++one.spills;
      if (!is_multiply_add(i)) continue;
      ++one.multiply_adds;
      if (is_pair_product(i.mnemonic)) ++one.pairs;
      if (contains(i.operands, "{%k")) ++one.masked_multiply_adds;
      one.vector_bytes = std::max(one.vector_bytes, vector_bytes(i));
    }
    if (one.multiply_adds > 0) hot.push_back(std::move(one));
  }
  return hot;
}

HotLoops hot_loops(const std::string& disassembly) {
  HotLoops sums;
  for (const DisassembledFunction& function : functions_of(disassembly)) {
    for (const Loop& one : hot_loops(function)) {
      ++sums.loops;
      sums.instructions += static_cast<int64_t>(one.body.size());
      sums.multiply_adds += one.multiply_adds;
      sums.spills += one.spills;
      sums.masked_multiply_adds += one.masked_multiply_adds;
    }
  }
  return sums;
}

LoopText loop_text(const Loop& loop) {
  LoopText text;
  for (const Instruction& i : loop.body) {
    std::string operands = i.operands;
    if (is_jump(i)) operands = operands.substr(0, target_place(operands)) + "#0";
    const std::string line = i.mnemonic + " " + operands + "\n";
    text.all += line;
    if (is_multiply_add(i)) text.multiply_adds += line;
  }
  return text;
}

}  // namespace fovea
