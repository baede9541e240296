// cpu_spaces.cpp: the ranges of the parameters of the CPU schedules, each with the reason for its
// bounds. What a schedule may be at all stands in its check(); these are the parts of it that can
// be fast.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "generators/tuner/schedule_space.h"

namespace fovea {
namespace {

constexpr int first_level_bytes = 32 * 1024, second_level_bytes = 1024 * 1024;

// What the ranges depend on beside earlier parameters.
struct Facts {
  Element element;
  CacheKind cache;
  int d_qk, d_v;
  int slice_features;  // of a query that meet those of a key
  int lanes, registers;
  bool pairs;  // dot products of bf16 pairs can be used
};

template <typename Keep>
std::vector<int> chosen(std::initializer_list<int> candidates, Keep&& keep) {
  std::vector<int> values;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(values), keep);
  return values;
}

// Accumulators of a register tile of `a` by `b` vectors, with the operands of one side and one
// broadcast, fit the registers.
bool fits_registers(const Facts& f, int a, int b) { return a * b + a + 1 <= f.registers; }

// Of the parameters of a prefill schedule, in the order of the space.
enum PrefillAt : size_t {
  lanes_at,
  dot_pairs_at,
  row_vectors_at,
  key_tile_at,
  feature_group_at,
  row_tiles_at,
  key_block_at
};

std::vector<SpaceParameter> prefill_parameters(const Facts& f) {
  constexpr int most_block_rows = 256, most_unrolled = 128;
  return {
      {"lanes", "a vector of the target; narrower ones leave multipliers idle",
       [=](const SpacePoint&) { return std::vector<int>{f.lanes}; }},
      {"dot_pairs",
       "1 needs bf16, a target with dot products of bf16 pairs and an even number of features",
       [=](const SpacePoint&) { return f.pairs ? std::vector<int>{0, 1} : std::vector<int>{0}; }},
      {"row_vectors", "more than 4 leave registers for fewer than 4 keys a tile",
       [](const SpacePoint&) { return std::vector<int>{1, 2, 3, 4}; }},
      {"key_tile",
       "accumulators, operands and one broadcast fit the registers; fewer than 8 accumulators wait "
       "for each other",
       [=](const SpacePoint& p) {
         return chosen({1, 2, 3, 4, 6, 8, 12, 16}, [&](int keys) {
           return p[row_vectors_at] * keys >= 8 && fits_registers(f, p[row_vectors_at], keys);
         });
       }},
      {"feature_group",
       "a divisor of d_v; accumulators, operands and one broadcast fit the registers; fewer than 4 "
       "accumulators only where d_v has no other divisor",
       [=](const SpacePoint& p) {
         const auto fits = [&](int features) {
           return f.d_v % features == 0 && fits_registers(f, p[row_vectors_at], features);
         };
         std::vector<int> values = chosen({1, 2, 4, 8, 16}, [&](int features) {
           return fits(features) && p[row_vectors_at] * features >= 4;
         });
         return values.empty() ? chosen({1, 2, 4, 8, 16}, fits) : values;
       }},
      {"row_tiles",
       fmt::format("a block of more than {} rows wastes more along the edges of masks than it "
                   "saves of what is done once for a block of keys",
                   most_block_rows),
       [=](const SpacePoint& p) {
         return chosen({1, 2, 3, 4, 6, 8}, [&](int tiles) {
           return tiles == 1 || tiles * p[row_vectors_at] * f.lanes <= most_block_rows;
         });
       }},
      {"key_block",
       fmt::format(
           "a multiple of key_tile (with a cache of lanes too, with dot_pairs of 2); scores "
           "of a tile take at most half as much again as the first-level cache of {} KB",
           first_level_bytes / 1024),
       [=](const SpacePoint& p) {
         return chosen({32, 48, 64, 96, 128, 192, 256, 384, 512}, [&](int keys) {
           const int scores = p[row_vectors_at] * f.lanes * keys * 4;
           return keys % p[key_tile_at] == 0 && (!is_cache(f.cache) || keys % f.lanes == 0) &&
                  scores <= first_level_bytes * 3 / 2;
         });
       }},
      {"feature_unroll",
       fmt::format("a divisor of the steps over features; more than {} products between two "
                   "branches only lengthen the code",
                   most_unrolled),
       [=](const SpacePoint& p) {
         const int steps = f.slice_features / (p[dot_pairs_at] ? 2 : 1);
         return chosen({1, 2, 4, 8}, [&](int unroll) {
           return steps % unroll == 0 &&
                  (unroll == 1 || unroll * p[row_vectors_at] * p[key_tile_at] <= most_unrolled);
         });
       }},
      {"key_unroll",
       fmt::format("a divisor of the steps over a block's keys; more than {} products between two "
                   "branches only lengthen the code",
                   most_unrolled),
       [=](const SpacePoint& p) {
         const int steps = p[key_block_at] / (p[dot_pairs_at] ? 2 : 1);
         return chosen({1, 2, 4, 8}, [&](int unroll) {
           return steps % unroll == 0 &&
                  (unroll == 1 ||
                   unroll * p[row_vectors_at] * p[feature_group_at] <= most_unrolled);
         });
       }},
      {"tail_bodies",
       "one for tiles of one row vector instead of several, and one for half a vector, down to 8 "
       "rows; 16 of 16-bit types, whose rows are packed in squares of 16",
       [=](const SpacePoint& p) {
         const int most =
             (p[row_vectors_at] > 1 ? 1 : 0) + (f.element == Element::F32 && f.lanes == 16 ? 1 : 0);
         return chosen({0, 1, 2}, [&](int bodies) { return bodies <= most; });
       }},
  };
}

enum DecodeAt : size_t { wide_rows_at = 1, decode_key_block_at = 3 };

std::vector<SpaceParameter> decode_parameters(const Facts& f) {
  constexpr int most_streams = 16;
  const int key_bytes = (stored_size(f.d_qk, f.cache) + stored_size(f.d_v, f.cache)) *
                        stored_type(f.element, f.cache).bytes();
  return {
      {"lanes", "a vector of the target; narrower ones leave multipliers idle",
       [=](const SpacePoint&) { return std::vector<int>{f.lanes}; }},
      {"wide_rows", "a power of two up to lanes; rows beyond 8 have no registers for their sums",
       [=](const SpacePoint&) {
         return chosen({1, 2, 4, 8}, [&](int rows) { return rows <= f.lanes; });
       }},
      {"widest_rows", "none, or a power of two over wide_rows up to lanes",
       [=](const SpacePoint& p) {
         return chosen({0, 8}, [&](int rows) {
           return rows == 0 || (rows <= f.lanes && rows > p[wide_rows_at]);
         });
       }},
      {"key_block", "a multiple of lanes; longer ones compute too much of a cache's last block",
       [=](const SpacePoint&) {
         return chosen({32, 64, 96, 128, 192, 256, 384, 512},
                       [&](int keys) { return keys % f.lanes == 0; });
       }},
      {"key_streams",
       fmt::format("a divisor of key_block; memory is read well from at most {} places at once",
                   most_streams),
       [=](const SpacePoint& p) {
         return chosen({1, 2, 4, 8, 16},
                       [&](int streams) { return p[decode_key_block_at] % streams == 0; });
       }},
      {"chunk_blocks",
       fmt::format("a chunk stays in a second-level cache of {} KB, for it is read once for every "
                   "tile of rows",
                   second_level_bytes / 1024),
       [=](const SpacePoint& p) {
         return chosen({1, 2, 3, 4, 6, 8, 12, 16, 24, 32}, [&](int blocks) {
           return blocks == 1 || blocks * p[decode_key_block_at] * key_bytes <= second_level_bytes;
         });
       }},
      {"prefetch_blocks",
       "a block or two are in the second-level cache before they are read; more drive others out",
       [](const SpacePoint&) { return std::vector<int>{0, 1, 2}; }},
      {"product_features",
       "one row a vector, or four features of several rows, whose sums take fewer shuffles",
       [=](const SpacePoint&) {
         return f.lanes > 4 ? std::vector<int>{4, f.lanes} : std::vector<int>{f.lanes};
       }},
      {"value_vectors", "accumulators of weights * values leave registers for their operands",
       [=](const SpacePoint&) {
         return chosen({2, 4, 8, 12, 16, 24},
                       [&](int vectors) { return vectors + 2 < f.registers; });
       }},
      {"feature_unroll", "more steps than 8 between two branches only lengthen the code",
       [](const SpacePoint&) { return std::vector<int>{1, 2, 4, 8}; }},
      {"dot_pairs",
       "the target's product of bf16 pairs or widened numbers; keys that the kernel transforms are "
       "no pairs in memory",
       [=](const SpacePoint&) { return f.pairs ? std::vector<int>{0, 1} : std::vector<int>{0}; }},
  };
}

}  // namespace

ScheduleSpace schedule_space(const KernelSpec& spec, const Variant& variant) {
  const TargetRow* target = find_target(spec.target);
  if (!target) throw std::invalid_argument(fmt::format("unknown target '{}'", spec.target));
  const Element element = element_of(spec.dtype);
  if (target->is_device())
    throw std::invalid_argument(
        fmt::format("target '{}': allowed is one of a CPU; devices have no search", spec.target));
  const CacheKind cache = cache_kind_of(spec.cache);
  const int slice = spec.d_qk / variant.slice_count();
  // Decode takes keys in pairs as they lie in memory.
  const bool stored_pairs = spec.pass != "decode" || is_cache(cache) || variant.key_steps().empty();
  const bool pairs = element == Element::BF16 && !is_quantised(cache) && stored_pairs &&
                     multiplies_bf16_pairs(*target) && slice % 2 == 0;
  const Facts f = {element,
                   cache,
                   spec.d_qk,
                   spec.d_v,
                   slice,
                   target->vector_bytes / 4,
                   target->vector_registers,
                   pairs};
  if (spec.pass == "prefill") {
    return {prefill_parameters(f),
            default_prefill_schedule(*target, variant, element, f.d_qk, f.d_v, cache)};
  }
  if (spec.pass == "decode") {
    return {decode_parameters(f),
            default_decode_schedule(*target, variant, element, f.d_qk, f.d_v, cache)};
  }
  throw std::invalid_argument(fmt::format("pass '{}': allowed is prefill or decode", spec.pass));
}

}  // namespace fovea
