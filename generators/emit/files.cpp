// files.cpp: reading and writing of emitted files.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/files.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fovea {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", path.string()));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_if_changed(const std::filesystem::path& path, const std::string& text) {
  if (std::filesystem::exists(path) && read_file(path) == text) return;
  const std::filesystem::path temporary = path.string() + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.flush();
    if (!out) throw std::runtime_error(fmt::format("cannot write {}", temporary.string()));
  }
  std::filesystem::rename(temporary, path);
}

uint64_t hash_bytes(const std::string& bytes, uint64_t seed) {
  for (const char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

}  // namespace fovea
