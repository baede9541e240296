// manifest.cpp: the JSON description of a generated library, for tools.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/fovea.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "generators/emit/library_spec.h"
#include "generators/emit/spec_json.h"

namespace fovea {

nlohmann::ordered_json spec_json(const KernelSpec& spec) {
  nlohmann::ordered_json json = {{"name", kernel_name(spec)}, {"variant", spec.variant},
                                 {"pass", spec.pass},         {"dtype", spec.dtype},
                                 {"cache", spec.cache},       {"d_qk", spec.d_qk},
                                 {"d_v", spec.d_v},           {"target", spec.target}};
  if (spec.most_rows > 0) json["most_rows"] = spec.most_rows;
  if (spec.most_keys > 0) json["most_keys"] = spec.most_keys;
  return json;
}

std::string manifest(const LibraryPlan& plan) {
  using Json = nlohmann::ordered_json;
  Json root;
  root["schema"] = 1;
  root["library"] = plan.name;
  root["fovea"] =
      fmt::format("{}.{}.{}", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  root["halide"] =
      fmt::format("{}.{}.{}", HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH);
  for (const Variant& v : plan.variants) {
    Json parameters = Json::array();
    for (const auto& p : v.parameters()) {
      Json row;
      row["name"] = p->name;
      row["kind"] = p->kind == Parameter::Kind::Scalar ? "scalar" : "table";
      row["type"] = p->type.is_float() ? "f32" : p->type.is_int() ? "i32" : "bool";
      row["description"] = p->description;
      if (p->kind == Parameter::Kind::Scalar) {
        const auto bound = [&](double value) {
          if (std::isinf(value)) return Json();
          return p->type.is_int() ? Json(static_cast<int64_t>(value)) : Json(value);
        };
        row["minimum"] = bound(p->minimum);
        row["maximum"] = bound(p->maximum);
        row["exclusive_minimum"] = p->exclusive_minimum;
      } else {
        row["rank"] = p->axes.size();
        for (const Axis& axis : p->axes) row["axes"].push_back(axis_in_words(axis));
      }
      parameters.push_back(std::move(row));
    }
    root["variants"].push_back({{"name", v.name()},
                                {"summary", v.summary_text()},
                                {"source", v.source_text()},
                                {"family", v.family_text()},
                                {"notes", v.notes()},
                                {"hash", hash_text(v.hash())},
                                {"declaration", v.canonical_text()},
                                {"parameters", std::move(parameters)},
                                {"outputs", output_names(v)},
                                {"slices", v.slice_count()}});
  }
  for (const TargetRow* t : plan.targets) {
    root["targets"].push_back({{"name", t->name},
                               {"architecture", t->architecture},
                               {"halide", t->halide},
                               {"dtypes", t->dtypes}});
  }
  for (const PlannedKernel& k : plan.kernels) {
    Json row = spec_json(k.spec);
    row["symbol"] = k.symbol + "_argv";
    row["schedule"] = text_of(k.schedule);
    row["schedule_from"] = k.schedule_from;
    row["block_rows"] = k.facts.block_rows;
    row["scratch_bytes"] = k.facts.scratch_bytes;
    row["tile_fallback"] = k.facts.tile_fallback;
    if (k.facts.threads > 0) {
      row["threads"] = k.facts.threads;
      row["shared_bytes"] = k.facts.shared_bytes;
    }
    root["kernels"].push_back(std::move(row));
  }
  // A summary that is no UTF-8 is no reason to build nothing.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fovea
