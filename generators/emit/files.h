// files.h: reading and writing of emitted files.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_FILES_H
#define FOVEA_GENERATORS_EMIT_FILES_H

#include <cstdint>
#include <filesystem>
#include <string>

namespace fovea {

std::string read_file(const std::filesystem::path& path);

// Whole or not at all, and not touched when it already reads so (builds depend on modification
// times).
void write_if_changed(const std::filesystem::path& path, const std::string& text);

// FNV-1a, continued from `seed`.
uint64_t hash_bytes(const std::string& bytes, uint64_t seed = 0xcbf29ce484222325u);

}  // namespace fovea

#endif
