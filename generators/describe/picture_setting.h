// picture_setting.h: a call small enough for a picture in which a mask still looks like itself.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_PICTURE_SETTING_H
#define FOVEA_GENERATORS_DESCRIBE_PICTURE_SETTING_H

#include <fovea/dsl/variant.h>

#include <map>
#include <string>

namespace fovea {

// Values of scalars that take the place of their examples.
using ScalarValues = std::map<std::string, double>;

struct PictureSetting {
  ExampleShape shape;
  ScalarValues scalars;
};

// Examples are typical of calls of thousands of tokens: a window of 1024 would hide nothing from
// 64. So integer scalars of 8 and more whose example is one number for all shapes shrink with the
// sequence. Where that would not fit to the example tables (a map of blocks, whose extents belong
// to the block size), the call has its usual length and a cell of the picture holds many pairs.
PictureSetting picture_setting(const Variant& variant);

}  // namespace fovea

#endif
