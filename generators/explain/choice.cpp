// choice.cpp: a library of the runtime's structures, made up from names.
// SPDX-License-Identifier: Apache-2.0
#include "generators/explain/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bench/problem.h"
#include "generators/describe/layout.h"
#include "runtime/src/decode.h"
#include "runtime/src/preference.h"

namespace fovea {
namespace {

const fovea_target_info target_rows[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  {name, architecture, (__VA_ARGS__), preference},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
};

int32_t row_of(const std::string& target) {
  for (size_t i = 0; i < std::size(target_rows); ++i) {
    if (target == target_rows[i].name) return static_cast<int32_t>(i);
  }
  return -1;
}

fovea_pass pass_of(const std::string& name) {
  return name == "decode" ? FOVEA_DECODE : name == "append" ? FOVEA_APPEND : FOVEA_PREFILL;
}

fovea_cache_kind cache_of(const std::string& name) {
  for (int32_t kind = FOVEA_CACHE_NONE; kind <= FOVEA_CACHE_E5M2; ++kind) {
    if (name == detail::cache_name(static_cast<fovea_cache_kind>(kind)))
      return static_cast<fovea_cache_kind>(kind);
  }
  throw std::invalid_argument(
      fmt::format("--kv-cache '{}': allowed is none, same, int8, int4, e4m3, e5m2", name));
}

class Library {
 public:
  explicit Library(const std::vector<Candidate>& candidates) {
    // One variant, so that the order of kernels is that of the candidates.
    variant_ = {"variant", 0, nullptr, 0, 0, 1, 0};
    for (const Candidate& c : candidates) {
      const int32_t target = row_of(c.spec.target);
      if (target < 0) continue;
      of_.push_back(&c);
      names_.push_back(kernel_name(c.spec));
      kernels_.push_back({nullptr, 0, target, pass_of(c.spec.pass),
                          bench::parse_element_type(c.spec.dtype), cache_of(c.spec.cache),
                          c.spec.d_qk, c.spec.d_v, 1, 0, nullptr, nullptr, c.spec.most_rows,
                          c.spec.most_keys});
    }
    for (size_t i = 0; i < kernels_.size(); ++i) kernels_[i].name = names_[i].c_str();
    info_ = {FOVEA_ABI_VERSION, "library",
             &variant_,         1,
             target_rows,       static_cast<int32_t>(std::size(target_rows)),
             kernels_.data(),   static_cast<int32_t>(kernels_.size())};
  }

  const fovea_library_info& info() const { return info_; }
  const std::vector<fovea_kernel_info>& kernels() const { return kernels_; }
  const Candidate* candidate(size_t index) const { return of_[index]; }

 private:
  fovea_variant_info variant_{};
  std::vector<std::string> names_;
  std::vector<fovea_kernel_info> kernels_;
  std::vector<const Candidate*> of_;
  fovea_library_info info_{};
};

bool is_of_another_kind(detail::Refusal refusal) {
  return refusal == detail::Refusal::kPass || refusal == detail::Refusal::kDtype ||
         refusal == detail::Refusal::kCache || refusal == detail::Refusal::kHeadDims;
}

std::string exception_text(const fovea_kernel_info& kernel, detail::CpuFamily family) {
  const fovea_target_info& target = target_rows[kernel.target];
  const detail::Preference preference = detail::preference_of(target, kernel.dtype, family);
  if (preference.reason == nullptr) return "";
  return fmt::format(", {} has {} instead of {} on {}: {}", target.name, preference.value,
                     target.preference, detail::cpu_family_name(family), preference.reason);
}

std::string limits_of(const fovea_kernel_info& kernel) {
  char words[80] = "";
  detail::Text text(words, sizeof words);
  detail::append_limits(text, kernel);
  return words;
}

void choose_pass(const Library& library, const Question& q,
                 const detail::Capabilities& capabilities, detail::Request& request, int32_t& index,
                 Choice& choice) {
  const auto find = [&](fovea_pass pass) {
    request.pass = pass;
    index = detail::select_kernel(library.info(), request, capabilities);
    return index != detail::kNoKernel;
  };
  if (!q.pass.empty()) {
    choice.why_pass = "it was asked for";
    find(pass_of(q.pass));
    return;
  }
  if (q.shape.q_len <= detail::kDecodeRows) {
    choice.why_pass = fmt::format("at most {} query rows", detail::kDecodeRows);
    if (find(FOVEA_DECODE)) return;
    choice.why_pass = "no decode kernel can be used";
  } else {
    choice.why_pass = fmt::format("more than {} query rows", detail::kDecodeRows);
  }
  find(FOVEA_PREFILL);
}

}  // namespace

std::vector<Candidate> candidates_of(const LibraryPlan& plan) {
  std::vector<Candidate> all;
  for (const PlannedKernel& k : plan.kernels) {
    Candidate& c = all.emplace_back();
    c.spec = k.spec;
    c.schedule = text_of(k.schedule);
    c.schedule_from = k.schedule_from;
  }
  return all;
}

std::vector<Candidate> candidates_of(const nlohmann::json& manifest, const std::string& variant) {
  const auto kernels = manifest.find("kernels");
  if (!manifest.is_object() || kernels == manifest.end())
    throw std::invalid_argument("--library: allowed is the manifest (.json) that emit wrote");
  std::vector<Candidate> all;
  std::vector<std::string> names;
  for (const nlohmann::json& row : *kernels) {
    const std::optional<KernelSpec> spec = parse_kernel_name(row.value("name", ""));
    if (!spec) continue;
    if (std::find(names.begin(), names.end(), spec->variant) == names.end())
      names.push_back(spec->variant);
    if (spec->variant != variant) continue;
    Candidate& c = all.emplace_back();
    c.spec = *spec;
    c.schedule = row.value("schedule", "");
    c.schedule_from = row.value("schedule_from", c.schedule_from);
  }
  if (all.empty()) {
    throw std::invalid_argument(fmt::format("--variant '{}': the library holds {}{}", variant,
                                            fmt::join(names, ", "), suggestion(variant, names)));
  }
  return all;
}

Choice choose(const std::vector<Candidate>& candidates, const Question& q,
              detail::Capabilities capabilities) {
  const Library library(candidates);
  if (!q.target.empty()) {
    capabilities.forced_target = q.target.c_str();
    capabilities.forced_by = "--target";
  }
  detail::Request request = {0,
                             FOVEA_PREFILL,
                             bench::parse_element_type(q.dtype),
                             cache_of(q.cache),
                             q.shape.d_qk,
                             q.shape.d_v};
  request.q_rows = q.shape.q_len;
  request.kv_rows = q.shape.kv_len;
  Choice choice;
  int32_t index = detail::kNoKernel;
  choose_pass(library, q, capabilities, request, index, choice);
  if (index == detail::kNoKernel) {
    detail::fail_without_kernel(library.info(), request, capabilities);
    choice.refusal = fovea_last_message();
  } else {
    const fovea_kernel_info& kernel = library.kernels()[static_cast<size_t>(index)];
    const fovea_target_info& target = target_rows[kernel.target];
    choice.chosen = library.candidate(static_cast<size_t>(index));
    choice.why_target =
        capabilities.forced_target != nullptr
            ? fmt::format("{} forces {}", capabilities.forced_by, target.name)
            : fmt::format(
                  "{} is the usable target with the largest preference, {}{}", target.name,
                  detail::preference_of(target, kernel.dtype, capabilities.cpu_family).value,
                  exception_text(kernel, capabilities.cpu_family));
    if (detail::has_limits(kernel)) choice.why_schedule = "for calls of " + limits_of(kernel);
  }
  for (const bool of_another_kind : {false, true}) {
    for (size_t i = 0; i < library.kernels().size(); ++i) {
      const fovea_kernel_info& kernel = library.kernels()[i];
      const Candidate* c = library.candidate(i);
      const detail::Refusal refusal =
          detail::judge(library.info(), kernel, request, capabilities).refusal;
      if (c == choice.chosen || is_of_another_kind(refusal) != of_another_kind) continue;
      char words[512] = "";
      detail::Text text(words, sizeof words);
      detail::append_refusal(text, library.info(), kernel, request, capabilities);
      std::string answer;
      if (refusal != detail::Refusal::kNone) {
        answer = fmt::format("refused, {}", words);
      } else if (c->spec.target == choice.chosen->spec.target) {
        answer = fmt::format("usable, but there is a schedule for calls of {}",
                             limits_of(library.kernels()[static_cast<size_t>(index)]));
      } else {
        answer =
            fmt::format("usable, but {} has the larger preference{}", choice.chosen->spec.target,
                        exception_text(kernel, capabilities.cpu_family));
      }
      auto it = std::find_if(choice.others.begin(), choice.others.end(),
                             [&](const auto& known) { return known.first == answer; });
      if (it == choice.others.end()) it = choice.others.insert(it, {answer, {}});
      it->second.push_back(c);
    }
  }
  return choice;
}

}  // namespace fovea
