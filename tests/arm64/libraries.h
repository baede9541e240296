// libraries.h: the libraries of one worker, in the order that the test knows them in.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ARM64_LIBRARIES_H
#define FOVEA_TESTS_ARM64_LIBRARIES_H

#include <fovea/registry.h>
#include <test_libraries.h>  // FOVEA_TEST_LIBRARIES(f): f(name) f(name) …

#define FOVEA_DECLARE_LIBRARY(name) extern "C" const fovea_library_info* name##_library(void);
FOVEA_TEST_LIBRARIES(FOVEA_DECLARE_LIBRARY)
#undef FOVEA_DECLARE_LIBRARY

namespace fovea::test {

inline constexpr const fovea_library_info* (*library_functions[])() = {
#define FOVEA_LIBRARY_ROW(name) name##_library,
    FOVEA_TEST_LIBRARIES(FOVEA_LIBRARY_ROW)
#undef FOVEA_LIBRARY_ROW
};

}  // namespace fovea::test

#endif
