// device_programs.h: the programs for a device that modules carry.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_DEVICE_PROGRAMS_H
#define FOVEA_GENERATORS_EMIT_DEVICE_PROGRAMS_H

#include <Halide.h>

#include <string>

namespace fovea {

// The module, its programs and all that names them with `prefix` in front. Halide gives the
// programs of all modules one name, and of linked modules one program.
Halide::Module with_programs_named(const Halide::Module& module, const std::string& prefix);

// The texts of all programs, one after the other.
std::string program_text(const Halide::Module& module);

}  // namespace fovea

#endif
