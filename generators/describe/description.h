// description.h: everything there is to say about one variant.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_DESCRIPTION_H
#define FOVEA_GENERATORS_DESCRIBE_DESCRIPTION_H

#include <fovea/dsl/example.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generators/describe/mask_grid.h"
#include "generators/describe/picture_setting.h"
#include "generators/describe/tile_counts.h"
#include "generators/targets/target_table.h"

namespace fovea {

inline constexpr ExampleShape default_call_shape = {1, 8, 8, 2048, 2048, 64, 64};

struct DescribedParameter {
  const Parameter* declaration;
  std::string example;  // "50"; for tables the first entries: "0.5, 0.25, … (8)"
};

struct Description {
  const Variant* variant;
  const TargetRow* target;
  PictureSetting picture;
  ExampleShape shape;
  std::vector<DescribedParameter> parameters;  // examples for `shape`
  bool has_mask = false;
  MaskGrid grid;
  TileStatus status;
  TileCounts counts;
};

// With the example parameters, but for `scalars`, of a call of this shape. At most `most_cells`
// cells along an axis of the picture. The variant must outlive the description.
Description describe(const Variant& variant, const TargetRow& target, const PictureSetting& picture,
                     const ExampleShape& shape, const ScalarValues& scalars, int64_t most_cells);

// The picture alone.
MaskGrid example_mask_grid(const Variant& variant, const PictureSetting& picture,
                           int64_t most_cells);

std::string description_text(const Description& description);
nlohmann::ordered_json description_json(const Description& description);

// name, kind, type, range or axes, description: as JSON everywhere.
nlohmann::ordered_json parameter_json(const Parameter& parameter);

}  // namespace fovea

#endif
