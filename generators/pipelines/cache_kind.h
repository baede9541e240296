// cache_kind.h: what a kernel takes its keys and values from.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_CACHE_KIND_H
#define FOVEA_GENERATORS_PIPELINES_CACHE_KIND_H

#include <Halide.h>

#include <array>
#include <functional>
#include <string>

#include "generators/pipelines/element.h"

namespace fovea {

// fovea_cache_kind. None: rows one after the other, before the variant's transforms. All others:
// slots of a cache (pages, ring), after them; Same holds elements of the kernel's own type.
enum class CacheKind { None, Same, Int8, Int4, E4M3, E5M2 };

struct CacheKindRow {
  CacheKind kind;
  const char* name;        // as users write it
  const char* enumerator;  // in fovea/registry.h
};
inline constexpr std::array cache_kinds = {
    CacheKindRow{CacheKind::None, "none", "FOVEA_CACHE_NONE"},
    CacheKindRow{CacheKind::Same, "same", "FOVEA_CACHE_SAME"},
    CacheKindRow{CacheKind::Int8, "int8", "FOVEA_CACHE_I8"},
    CacheKindRow{CacheKind::Int4, "int4", "FOVEA_CACHE_I4"},
    CacheKindRow{CacheKind::E4M3, "e4m3", "FOVEA_CACHE_E4M3"},
    CacheKindRow{CacheKind::E5M2, "e5m2", "FOVEA_CACHE_E5M2"},
};

// Throws std::invalid_argument naming what is allowed.
CacheKind cache_kind_of(const std::string& name);
const CacheKindRow& row_of(CacheKind kind);

inline bool is_cache(CacheKind kind) { return kind != CacheKind::None; }
inline bool is_quantised(CacheKind kind) {
  return kind != CacheKind::None && kind != CacheKind::Same;
}

// The type of k and v in memory, and how many of it make a row.
Halide::Type stored_type(Element element, CacheKind kind);
inline int stored_size(int features, CacheKind kind) {
  return kind == CacheKind::Int4 ? features / 2 : features;
}

// Two features to a byte: those that lie so many apart.
inline constexpr int int4_distance = 16;
// Features of the smallest group with a scale of its own.
inline constexpr int scale_unit = 16;

// Numbers of a quantised cache before their scale, and before number_factor. `unit` is the number
// of neighbouring features from a multiple of it on that are read at once: they lie next to each
// other in memory, in a form that Halide sees.
Halide::Expr quantised_number(CacheKind kind, const Halide::Expr& feature, int unit,
                              const std::function<Halide::Expr(const Halide::Expr&)>& stored);

// What they are to be multiplied by, with their scale.
float number_factor(CacheKind kind);

// Of the numbers of a group the largest that the kind can hold.
float largest_number(CacheKind kind);

// What is stored for a number that has been divided by its scale; of Int4 the four bits of it,
// plus 8. Rounded to nearest, ties to even; 8-bit floats beyond the largest become the largest,
// infinity and NaN become NaN.
Halide::Expr quantise(CacheKind kind, const Halide::Expr& number);

}  // namespace fovea

#endif
