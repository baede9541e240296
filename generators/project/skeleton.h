// skeleton.h: the files of a new project, as they were when the program was built; {{name}} is a
// place for its name. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PROJECT_SKELETON_H
#define FOVEA_GENERATORS_PROJECT_SKELETON_H

namespace fovea {

extern const char* const skeleton_cmake;
extern const char* const skeleton_variants;
extern const char* const skeleton_test;

}  // namespace fovea

#endif
