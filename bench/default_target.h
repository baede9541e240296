// default_target.h: the target that the dispatcher would choose on this machine.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_DEFAULT_TARGET_H
#define FOVEA_BENCH_DEFAULT_TARGET_H

#include <string>

namespace fovea::bench {

// For kernels of this element type. Throws std::runtime_error when this CPU runs none.
std::string default_target(const std::string& dtype);

}  // namespace fovea::bench

#endif
