// default_target.h: the target that the dispatcher would choose on this machine.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_DEFAULT_TARGET_H
#define FOVEA_BENCH_DEFAULT_TARGET_H

#include <fovea/fovea.h>

#include <string>

namespace fovea::bench {

// For kernels of this element type, by the rules of the runtime. Throws std::runtime_error when
// this CPU runs none.
std::string default_target(fovea_dtype dtype, const std::string& dtype_name);

}  // namespace fovea::bench

#endif
