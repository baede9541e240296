// library_plan.cpp: request -> list of kernels.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/identifier.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <stdexcept>

#include "generators/database/tuned_schedules.h"
#include "generators/describe/layout.h"
#include "generators/emit/library_spec.h"

namespace fovea {
namespace {

// Head dimensions beyond this would need tiles of d_v of another shape; nothing published comes
// near.
constexpr int max_head_dim = 1024;

[[noreturn]] void refuse(const std::string& field, const std::string& value,
                         const std::string& allowed) {
  throw std::invalid_argument(fmt::format("{} '{}': allowed is {}", field, value, allowed));
}

template <typename T>
void refuse_duplicates(const std::string& field, std::vector<T> values, auto&& text) {
  std::sort(values.begin(), values.end());
  const auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) refuse(field, text(*twice), "each value once");
}

// The functions and types of a variant in the generated headers, after the library's name.
constexpr std::array variant_suffixes = {"", "_params", "_workspace", "_explain", "_append"};

// Every name a library declares has one meaning: in C (causal_params and the parameters of causal
// would be one), and in C++, where a variant is a structure with members.
void refuse_colliding_names(const std::vector<Variant>& variants) {
  std::map<std::string, std::string> owner = {{"library", "the list of kernels"}};
  for (const Variant& v : variants) {
    for (const char* member : {"run", "workspace", "explain", "append", "fovea", "std"}) {
      if (v.name() == member)
        refuse("variant", v.name(), "a name the generated C++ header does not use itself");
    }
    for (const char* suffix : variant_suffixes) {
      const auto [it, is_new] = owner.emplace(v.name() + suffix, "variant " + v.name());
      if (!is_new)
        refuse("variant", v.name(),
               fmt::format("a name whose function <library>_{} does not belong to {} already",
                           it->first, it->second));
    }
  }
}

std::vector<Variant> choose_variants(const std::vector<std::string>& names,
                                     std::vector<Variant> declared) {
  if (declared.empty())
    throw std::invalid_argument("no variant is declared; use FOVEA_VARIANT(name, v) { … }");
  if (names.empty()) return declared;
  std::vector<std::string> known;
  for (const Variant& v : declared) known.push_back(v.name());
  std::vector<Variant> chosen;
  for (const std::string& name : names) {
    const auto it = std::find_if(declared.begin(), declared.end(),
                                 [&](const Variant& v) { return v.name() == name; });
    if (it == declared.end())
      refuse("variant", name,
             fmt::format("one of the declared: {}{}", fmt::join(known, ", "),
                         suggestion(name, known)));
    chosen.push_back(*it);
  }
  return chosen;
}

void refuse_impossible_caches(const LibraryRequest& request,
                              const std::vector<std::pair<int, int>>& dims,
                              const std::vector<Variant>& variants) {
  bool cached = false;
  for (const std::string& name : request.caches) {
    const CacheKind kind = cache_kind_of(name);
    cached = cached || is_cache(kind);
    if (kind != CacheKind::Int4) continue;
    for (const auto& [d_qk, d_v] : dims) {
      if (d_qk % (2 * int4_distance) == 0 && d_v % (2 * int4_distance) == 0) continue;
      refuse("head dimension", fmt::format("{}/{}", d_qk, d_v),
             "multiples of 32 with cache int4, whose bytes hold features 16 apart");
    }
  }
  if (!cached) return;
  for (const Variant& v : variants) {
    if (const std::string why = why_not_cached(v); !why.empty())
      refuse("variant", v.name(), "one whose keys can be cached; " + why);
  }
}

// `tuned` holds all parameters, or is empty; `changes` some.
KernelSchedule planned_schedule(const KernelSpec& spec, const Variant& variant,
                                const TargetRow& target, const std::string& tuned,
                                const std::string& changes) {
  const Element element = element_of(spec.dtype);
  const CacheKind cache = cache_kind_of(spec.cache);
  if (spec.pass == "append" && target.is_device()) {
    const AppendGpuSchedule s = AppendGpuSchedule().with(changes);
    check(s);
    return s;
  }
  if (spec.pass == "append") {
    const AppendCpuSchedule s = default_append_schedule(target).with(changes);
    check(s);
    return s;
  }
  if (spec.pass == "decode" && target.is_device()) {
    const DecodeGpuSchedule s =
        default_decode_gpu_schedule(variant, spec.d_qk, spec.d_v, cache).with(changes);
    check(s, spec.d_v);
    return s;
  }
  if (spec.pass == "decode") {
    const DecodeCpuSchedule s =
        default_decode_schedule(target, variant, element, spec.d_qk, spec.d_v, cache)
            .with(tuned)
            .with(changes);
    check(s);
    return s;
  }
  if (target.is_device()) {
    const PrefillGpuSchedule s =
        default_prefill_gpu_schedule(variant, spec.d_qk, spec.d_v, cache).with(changes);
    check(s, spec.d_v);
    return s;
  }
  const PrefillCpuSchedule s =
      default_prefill_schedule(target, variant, element, spec.d_qk, spec.d_v, cache)
          .with(tuned)
          .with(changes);
  check(s, variant, element, spec.d_qk, spec.d_v, cache);
  return s;
}

// The kernel with the schedule that `entry` names, nullptr: the default one.
PlannedKernel scheduled(PlannedKernel k, const Variant& variant, const TargetRow& target,
                        const TunedChoice* entry, const std::string& changes) {
  // An entry has to be right by itself.
  if (entry) planned_schedule(k.spec, variant, target, entry->schedule, "");
  k.schedule = planned_schedule(k.spec, variant, target, entry ? entry->schedule : "", changes);
  k.schedule_from = entry ? entry->from : "default";
  if (!changes.empty()) k.schedule_from += " and --schedule " + changes;
  if (entry) k.spec.most_rows = entry->most_rows, k.spec.most_keys = entry->most_keys;
  return k;
}

// k with its schedule, and before it those for some calls only.
std::vector<PlannedKernel> with_schedules(const PlannedKernel& k, const Variant& variant,
                                          const TargetRow& target, const TunedSchedules& tuned,
                                          const std::string& changes,
                                          std::vector<std::string>& notes) {
  std::vector<PlannedKernel> all;
  if (k.spec.pass != "append" && !target.is_device()) {
    for (const TunedChoice& entry : tuned.find(k.spec, variant, notes)) {
      try {
        all.push_back(scheduled(k, variant, target, &entry, changes));
      } catch (const std::invalid_argument& error) {
        notes.push_back(fmt::format("{}: not used: {}", entry.from, error.what()));
      }
    }
  }
  if (all.empty() || all.back().spec != k.spec)
    all.push_back(scheduled(k, variant, target, nullptr, changes));
  const std::string last = text_of(all.back().schedule);
  std::erase_if(all, [&](const PlannedKernel& other) {
    return other.spec != k.spec && text_of(other.schedule) == last;
  });
  return all;
}

}  // namespace

std::string kernel_symbol(const std::string& library, const KernelSpec& spec) {
  return library + "__" + kernel_name(spec);
}

std::string code_text(const PlannedKernel& k, const Variant& variant) {
  const KernelSpec& s = k.spec;
  const bool appends = s.pass == "append";
  std::string declaration = appends ? variant.cached_text() : variant.canonical_text();
  if (!appends) declaration.erase(0, declaration.find('\n') + 1);  // the name
  return fmt::format("{} {} {} {}/{}\n{}\n{}\n{}", s.pass, s.dtype, s.cache, s.d_qk, s.d_v,
                     kernel_target(*find_target(s.target)).to_string(), text_of(k.schedule),
                     declaration);
}

std::vector<std::string> kernel_symbols(const PlannedKernel& k) {
  if (k.spec.pass != "decode") return {k.symbol + "_argv"};
  std::vector<std::string> symbols;
  if (!find_target(k.spec.target)->is_device()) symbols.push_back(range_symbol(k.symbol) + "_argv");
  symbols.push_back(finish_symbol(k.symbol) + "_argv");
  for (const int rows : k.facts.tile_rows) symbols.push_back(part_symbol(k.symbol, rows) + "_argv");
  return symbols;
}

std::pair<int, int> parse_head_dims(const std::string& text) {
  const auto number = [&](std::string_view part) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1 ||
        value > max_head_dim) {
      refuse("head dimension", text, fmt::format("D or D_QK/D_V, each 1 to {}", max_head_dim));
    }
    return value;
  };
  const std::string_view view = text;
  const size_t slash = view.find('/');
  if (slash == std::string_view::npos) return {number(view), number(view)};
  return {number(view.substr(0, slash)), number(view.substr(slash + 1))};
}

std::vector<std::string> output_names(const Variant& variant) {
  std::vector<std::string> names;
  for (const NamedOutput& o : named_outputs) {
    if (variant.returns(o.output)) names.emplace_back(o.name);
  }
  return names;
}

bool has_caches(const LibraryPlan& plan) {
  return std::any_of(plan.kernels.begin(), plan.kernels.end(),
                     [](const PlannedKernel& k) { return k.spec.pass == "append"; });
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

LibraryPlan plan_library(const LibraryRequest& request, std::vector<Variant> declared) {
  const auto identifier = [](const std::string& s) {
    return !s.empty() && !(s[0] >= '0' && s[0] <= '9') &&
           std::all_of(s.begin(), s.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_';
           });
  };
  if (!identifier(request.name)) {
    refuse("library name", request.name,
           "an identifier of C: letters, digits and underscores, no digit first");
  }
  if (is_reserved_word(request.name) || request.name == "fovea" || request.name == "std" ||
      request.name[0] == '_' || request.name.find("__") != std::string::npos) {
    refuse("library name", request.name,
           "an identifier that C, C++ and fovea itself do not use; no underscore first, no two in "
           "a row");
  }
  LibraryPlan plan;
  plan.name = request.name;
  plan.variants = choose_variants(request.variants, std::move(declared));
  const auto as_is = [](const std::string& s) { return s; };
  refuse_duplicates("variant", request.variants, as_is);
  refuse_colliding_names(plan.variants);

  for (const std::string& dtype : request.dtypes) {
    const auto known = dtype_names();
    if (std::find(known.begin(), known.end(), dtype) == known.end())
      refuse("dtype", dtype, fmt::format("one of {}", fmt::join(known, ", ")));
  }
  for (const std::string& pass : request.passes) {
    if (pass != "prefill" && pass != "decode" && pass != "append")
      refuse("pass", pass, "one of prefill, decode, append");
  }
  for (const auto& [field, values] :
       {std::pair{"dtype", &request.dtypes}, std::pair{"pass", &request.passes},
        std::pair{"head dimension", &request.head_dims}, std::pair{"cache", &request.caches}}) {
    if (values->empty()) refuse(field, "", "at least one value");
  }
  plan.targets = choose_targets(request.targets, request.dtypes, request.architecture);
  refuse_duplicates("target", request.targets, as_is);
  std::vector<std::pair<int, int>> dims;
  for (const std::string& text : request.head_dims) dims.push_back(parse_head_dims(text));
  refuse_duplicates("head dimension", dims,
                    [](const auto& d) { return fmt::format("{}/{}", d.first, d.second); });
  refuse_duplicates("dtype", request.dtypes, as_is);
  refuse_duplicates("pass", request.passes, as_is);
  refuse_duplicates("cache", request.caches, as_is);
  refuse_impossible_caches(request, dims, plan.variants);

  for (const Variant& v : plan.variants) {
    for (const auto& [d_qk, d_v] : dims) {
      if (d_qk % v.slice_count() == 0) continue;
      refuse("head dimension", fmt::format("{}/{}", d_qk, d_v),
             fmt::format("a d_qk that is a multiple of {}, the slices of variant {}",
                         v.slice_count(), v.name()));
    }
  }

  std::map<std::string, std::string> symbols;  // of the first kernel with a code
  const TunedSchedules tuned({request.tuned.begin(), request.tuned.end()});
  plan.notes = tuned.problems();
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    for (const std::string& pass : request.passes) {
      for (const std::string& dtype : request.dtypes) {
        for (const auto& [d_qk, d_v] : dims) {
          for (const std::string& cache : request.caches) {
            if (pass == "append" && cache == "none") continue;
            for (const TargetRow* target : plan.targets) {
              if (!target->is_for(dtype)) continue;
              PlannedKernel k;
              k.spec = {pass, plan.variants[i].name(), dtype, d_qk, d_v, target->name, cache};
              k.variant = i;
              // What is asked of the schedules of attention is nothing for those that append.
              const bool changed = pass != "append" || request.passes.size() == 1;
              for (PlannedKernel& one :
                   with_schedules(k, plan.variants[i], *target, tuned,
                                  changed ? request.schedule : "", plan.notes)) {
                const auto [same, is_first] = symbols.emplace(code_text(one, plan.variants[i]),
                                                              kernel_symbol(plan.name, one.spec));
                one.is_copy = !is_first;
                one.symbol = same->second;
                plan.kernels.push_back(std::move(one));
              }
            }
          }
        }
      }
    }
  }
  return plan;
}

}  // namespace fovea
