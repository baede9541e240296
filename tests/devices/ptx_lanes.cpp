// ptx_lanes.cpp: addresses of the threads of a warp, by evaluating what PTX computes them from.
// SPDX-License-Identifier: Apache-2.0
#include "tests/devices/ptx_lanes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace fovea::test {
namespace {

constexpr int lanes = 32, banks = 32, word_bytes = 4, sector_bytes = 32;
constexpr int64_t argument = 4096;
using Lanes = std::array<int64_t, lanes>;

struct Instruction {
  std::string op;                 // with its types
  std::vector<std::string> args;  // the first one is what is written
};

struct Access {
  bool is_shared, is_load;
  int bytes;
  std::string address;
  int64_t offset;
  std::vector<std::string> loops;  // around it, by name
};

class Kernel {
 public:
  Kernel(const std::string& ptx, int threads_x) : threads_x_(threads_x) {
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);) read_(line);
  }

  const std::vector<Access>& accesses() const { return accesses_; }

  Lanes addresses(const Access& a) {
    Lanes at = a.address.empty() ? Lanes{} : value_(a.address);
    for (int64_t& address : at) address += a.offset;
    return at;
  }

  // Loops around an access and those around them.
  bool is_in(const Access& a, const char* pattern) const {
    const std::regex name(pattern);
    std::vector<std::string> open = a.loops;
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string loop = open.back();
      open.pop_back();
      if (!seen.insert(loop).second) continue;
      const auto found = names_.find(loop);
      if (found != names_.end() && std::regex_search(found->second, name)) return true;
      if (const auto outer = parents_.find(loop); outer != parents_.end())
        open.insert(open.end(), outer->second.begin(), outer->second.end());
    }
    return false;
  }

 private:
  void read_(const std::string& line) {
    static const std::regex label(R"re(^\$L__(BB\d+_\d+):\s*(?://\s*%"?([^"]*)"?\s*)?$)re"),
        other_block(R"(^// %bb\.)"), header(R"(This (?:Inner )?Loop Header)"),
        around(R"((?:Parent Loop |Header=)(BB\d+_\d+))"),
        instruction(R"(^\s+(?:@!?%p\d+\s+)?([a-z][a-z0-9_.]*)\s+(.*);)");
    std::smatch match;
    if (std::regex_search(line, match, label)) {
      block_ = match[1];
      names_[block_] = match[2];
      loops_.clear();
    } else if (std::regex_search(line, other_block)) {
      block_.clear();
      loops_.clear();
    }
    if (std::regex_search(line, match, around)) {
      loops_.push_back(match[1]);
      if (!block_.empty() && line.find("Parent") != std::string::npos)
        parents_[block_].push_back(match[1]);
    }
    if (!block_.empty() && std::regex_search(line, header)) loops_.push_back(block_);
    if (std::regex_search(line, match, instruction)) add_(match[1], match[2]);
  }

  void add_(const std::string& op, const std::string& text) {
    static const std::regex argument_text(R"(\{[^}]*\}|\[[^\]]*\]|[^,\s]+)"),
        place(R"(\[(%r[sd]?\d+)?\+?(-?\d*)\])");
    std::vector<std::string> args(
        std::sregex_token_iterator(text.begin(), text.end(), argument_text),
        std::sregex_token_iterator());
    const bool is_load = op.starts_with("ld."), is_shared = op.find(".shared") != op.npos;
    if ((is_load || op.starts_with("st.")) && (is_shared || op.find(".global") != op.npos)) {
      const std::string& address = args.at(is_load ? 1 : 0);
      std::smatch match;
      if (!std::regex_match(address, match, place))
        throw std::runtime_error("the address '" + address + "' is not known here");
      const std::string offset = match[2];
      const int numbers = op.find(".v4") != op.npos ? 4 : op.find(".v2") != op.npos ? 2 : 1;
      const int bits = std::stoi(op.substr(op.find_last_of("busf") + 1));
      accesses_.push_back({is_shared, is_load, numbers * bits / 8, match[1],
                           offset.empty() ? 0 : std::stoll(offset), loops_});
    }
    if (args.empty() || op.starts_with("st.")) return;
    // The first definition is the one before a loop.
    if (args[0].starts_with("%")) definitions_.try_emplace(args[0], Instruction{op, args});
  }

  Lanes value_(const std::string& name) {
    if (name.starts_with("%tid.")) {
      Lanes v;
      for (int i = 0; i < lanes; ++i) v[i] = name.back() == 'x' ? i % threads_x_ : i / threads_x_;
      return v;
    }
    Lanes v{};
    if (!name.starts_with("%")) {
      if (name.find_first_not_of("-0123456789") == name.npos) v.fill(std::stoll(name));
      return v;
    }
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) return v;  // of the grid
    if (const auto known = values_.find(name); known != values_.end()) return known->second;
    values_[name] = v;  // of a definition that leads back to itself
    v = compute_(found->second);
    return values_[name] = v;
  }

  Lanes compute_(const Instruction& i) {
    Lanes v{};
    if (i.op.starts_with("ld.param")) {
      v.fill(argument);
      return v;
    }
    // What memory holds and what floats are does not lead to addresses.
    if (i.op.starts_with("ld.") || i.op.find(".f32") != i.op.npos) return v;
    std::vector<Lanes> args;
    for (size_t n = 1; n < i.args.size(); ++n) args.push_back(value_(i.args[n]));
    for (int lane = 0; lane < lanes; ++lane) {
      const auto at = [&](size_t n) { return args.at(n)[static_cast<size_t>(lane)]; };
      v[static_cast<size_t>(lane)] = compute_(i.op, at);
    }
    return v;
  }

  template <typename At>
  static int64_t compute_(const std::string& op, const At& at) {
    const std::string_view name = std::string_view(op).substr(0, op.find('.'));
    const auto compare = [&](const char* how) {
      return op.starts_with(std::string("setp.") + how);
    };
    if (name == "mov" || name == "cvt" || name == "cvta") return at(0);
    if (name == "add") return at(0) + at(1);
    if (name == "sub") return at(0) - at(1);
    if (name == "mul") return at(0) * at(1);
    if (name == "mad") return at(0) * at(1) + at(2);
    if (name == "div") return at(1) == 0 ? 0 : at(0) / at(1);
    if (name == "rem") return at(1) == 0 ? 0 : at(0) % at(1);
    if (name == "shl") return at(0) << at(1);
    if (name == "shr") return at(0) >> at(1);
    if (name == "and") return at(0) & at(1);
    if (name == "or") return at(0) | at(1);
    if (name == "xor") return at(0) ^ at(1);
    if (name == "not") return ~at(0);
    if (name == "neg") return -at(0);
    if (name == "min") return std::min(at(0), at(1));
    if (name == "max") return std::max(at(0), at(1));
    if (name == "bfe") return (at(0) >> at(1)) & ((int64_t{1} << at(2)) - 1);
    if (name == "selp") return at(2) != 0 ? at(0) : at(1);
    if (compare("eq")) return at(0) == at(1);
    if (compare("ne")) return at(0) != at(1);
    if (compare("lt")) return at(0) < at(1);
    if (compare("le")) return at(0) <= at(1);
    if (compare("gt")) return at(0) > at(1);
    if (compare("ge")) return at(0) >= at(1);
    throw std::runtime_error("an address is computed by '" + op + "', which is not known here");
  }

  int threads_x_;
  std::string block_;
  std::vector<std::string> loops_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::vector<std::string>> parents_;
  std::map<std::string, Instruction> definitions_;
  std::map<std::string, Lanes> values_;
  std::vector<Access> accesses_;
};

// Wide accesses are served for so many threads at once as fill the banks.
int bank_ways(const Lanes& at, int bytes) {
  const int together = lanes * word_bytes / std::max(bytes, word_bytes);
  size_t most = 1;
  for (int first = 0; first < lanes; first += together) {
    std::array<std::set<int64_t>, banks> words;
    for (int i = first; i < first + together; ++i) {
      const int64_t address = at[static_cast<size_t>(i)];
      for (int64_t w = address / word_bytes; w <= (address + bytes - 1) / word_bytes; ++w)
        words[static_cast<size_t>(w & (banks - 1))].insert(w);
    }
    for (const std::set<int64_t>& w : words) most = std::max(most, w.size());
  }
  return static_cast<int>(most);
}

int sectors_percent(const Lanes& at, int bytes) {
  std::set<int64_t> sectors, numbers(at.begin(), at.end());
  for (const int64_t address : numbers) {
    sectors.insert(address / sector_bytes);
    sectors.insert((address + bytes - 1) / sector_bytes);
  }
  const auto needed =
      (static_cast<int64_t>(numbers.size()) * bytes + sector_bytes - 1) / sector_bytes;
  return static_cast<int>(100 * static_cast<int64_t>(sectors.size()) / needed);
}

void add_accesses(const std::string& ptx, int threads_x, WarpAccesses& worst) {
  Kernel kernel(ptx, threads_x);
  for (const Access& a : kernel.accesses()) {
    const Lanes at = kernel.addresses(a);
    const bool in_block = kernel.is_in(a, R"(\.blocks_)");
    if (!a.is_shared) {
      if (!a.is_load || !in_block) continue;
      worst.sectors_percent = std::max(worst.sectors_percent, sectors_percent(at, a.bytes));
      worst.read_bits = std::max(worst.read_bits, 8 * a.bytes);
      continue;
    }
    int& place = kernel.is_in(a, R"(product_\w+\.s1\.features)")      ? worst.products
                 : kernel.is_in(a, R"(weighted_\w+\.s1\.value_keys)") ? worst.values
                 : in_block                                           ? worst.block
                                                                      : worst.tile;
    place = std::max(place, bank_ways(at, a.bytes));
  }
}

}  // namespace

WarpAccesses warp_accesses(const std::string& ptx, int threads_x) {
  // Each kernel has registers of its own.
  WarpAccesses worst;
  for (size_t begin = 0; begin != ptx.npos;) {
    const size_t end = ptx.find(".entry", begin + 1);
    add_accesses(ptx.substr(begin, end - begin), threads_x, worst);
    begin = end;
  }
  return worst;
}

}  // namespace fovea::test
