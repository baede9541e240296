// call_shape.h: the shape of a call as one word: b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_CALL_SHAPE_H
#define FOVEA_GENERATORS_DESCRIBE_CALL_SHAPE_H

#include <fovea/dsl/parameter.h>

#include <string>

namespace fovea {

// What the text leaves out keeps its value in `shape`; d is D or D_QK/D_V. Throws
// std::invalid_argument naming the word that is wrong, or heads that do not divide.
ExampleShape parse_call_shape(const std::string& text, ExampleShape shape);

std::string call_shape_text(const ExampleShape& shape);

}  // namespace fovea

#endif
