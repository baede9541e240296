// explain_command.cpp: `explain`: which kernel a call would run, here or on another CPU.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generators/describe/call_shape.h"
#include "generators/describe/description.h"
#include "generators/describe/layout.h"
#include "generators/emit/files.h"
#include "generators/emit/spec_json.h"
#include "generators/explain/choice.h"
#include "generators/explain/recorded_cpus.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct ExplainArguments {
  std::string variant, library, shape, cpu = "here";
  std::vector<std::string> tuned;
  Question question;
  bool json = false;
};

// "NAME.json", or the folder that emit wrote it into.
nlohmann::json read_manifest(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".json") file = entry.path();
    }
  }
  const nlohmann::json manifest = nlohmann::json::parse(read_file(file), nullptr, false);
  if (manifest.is_discarded())
    throw std::invalid_argument(fmt::format(
        "--library '{}': allowed is the manifest (.json) that emit wrote, or its folder",
        path.string()));
  return manifest;
}

std::vector<Candidate> find_candidates(const ExplainArguments& a,
                                       const detail::Capabilities& capabilities) {
  if (!a.library.empty()) return candidates_of(read_manifest(a.library), a.variant);
  LibraryRequest request;
  request.name = "explain";
  request.architecture = capabilities.architecture;
  request.variants = {a.variant};
  request.dtypes = {a.question.dtype};
  request.passes = {"prefill", "decode"};
  request.caches = {a.question.cache};
  request.tuned = a.tuned;
  request.head_dims = {fmt::format("{}/{}", a.question.shape.d_qk, a.question.shape.d_v)};
  return candidates_of(plan_library(request, declared_variants()));
}

nlohmann::ordered_json choice_json(const Choice& choice, const ExplainArguments& a,
                                   const detail::Capabilities& capabilities) {
  nlohmann::ordered_json root = {{"cpu", a.cpu},
                                 {"cpu_family", detail::cpu_family_name(capabilities.cpu_family)},
                                 {"variant", a.variant},
                                 {"dtype", a.question.dtype},
                                 {"shape", call_shape_text(a.question.shape)},
                                 {"chosen", nullptr}};
  if (choice.chosen) {
    root["chosen"] = spec_json(choice.chosen->spec);
    root["chosen"]["why_target"] = choice.why_target;
    root["chosen"]["why_pass"] = choice.why_pass;
    if (!choice.why_schedule.empty()) root["chosen"]["why_schedule"] = choice.why_schedule;
    root["chosen"]["schedule"] = choice.chosen->schedule;
    root["chosen"]["schedule_from"] = choice.chosen->schedule_from;
  } else {
    root["refusal"] = choice.refusal;
  }
  root["others"] = nlohmann::ordered_json::array();
  for (const auto& [answer, kernels] : choice.others) {
    for (const Candidate* c : kernels)
      root["others"].push_back({{"name", kernel_name(c->spec)}, {"answer", answer}});
  }
  return root;
}

std::string choice_text(const Choice& choice) {
  std::string out;
  if (choice.chosen) {
    out += fmt::format("chosen: {}\n", kernel_name(choice.chosen->spec));
    out += wrapped("  target", 12, choice.why_target);
    out += wrapped("  pass", 12, choice.chosen->spec.pass + ": " + choice.why_pass);
    out += wrapped("  schedule", 12,
                   choice.chosen->schedule + " (" + choice.chosen->schedule_from + ")");
    if (!choice.why_schedule.empty()) out += wrapped("", 12, choice.why_schedule);
  }
  for (const auto& [answer, kernels] : choice.others) {
    out += answer + ":\n";
    for (const Candidate* c : kernels) out += "  " + kernel_name(c->spec) + "\n";
  }
  return out;
}

void run_explain(ExplainArguments& a) {
  a.question.shape =
      parse_call_shape(a.shape, a.question.pass == "decode" ? ExampleShape{1, 8, 8, 1, 4096, 64, 64}
                                                            : default_call_shape);
  const detail::Capabilities capabilities = capabilities_of(a.cpu);
  const std::vector<Candidate> candidates = find_candidates(a, capabilities);
  const Choice choice = choose(candidates, a.question, capabilities);
  if (a.json) {
    fmt::print("{}\n", choice_json(choice, a, capabilities)
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", choice_text(choice));
  }
  std::fflush(stdout);
  if (!choice.chosen) throw std::runtime_error(choice.refusal);
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto a = std::make_shared<ExplainArguments>();
  a->question.dtype = "f32";
  std::vector<std::string> cpus;
  for (const RecordedCpu& cpu : recorded_cpus()) cpus.emplace_back(cpu.name);
  CLI::App* explain =
      app.add_subcommand("explain", "which kernel a call would run, and why not the others");
  explain->footer(
      "example: fovea explain --variant causal --dtype bf16 --shape sq=512,skv=512,d=64\n"
      "         fovea explain --variant causal --cpu emerald-rapids --dtype bf16\n"
      "         fovea explain --library build/my_attention.fovea --variant causal\n"
      "the exit code is 1 if no kernel can be used");
  explain->add_option("name,--variant", a->variant, "its name")->required();
  explain->add_option("--library", a->library,
                      "the manifest of a library, or the folder that emit wrote; default: kernels "
                      "of every target, as emit would build them");
  explain->add_option("--pass", a->question.pass, "prefill or decode; default: by the query rows")
      ->check(CLI::IsMember({"prefill", "decode"}));
  explain->add_option("--dtype", a->question.dtype, "element type: f32, f16, bf16")
      ->capture_default_str();
  explain->add_option("--shape", a->shape, "of the call, as b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64");
  explain->add_option("--target", a->question.target, "the target that the call forces");
  explain->add_option("--kv-cache", a->question.cache, "what keys and values are read from")
      ->capture_default_str();
  explain->add_option("--tuned", a->tuned, "tuning files, as of emit");
  explain->add_option("--cpu", a->cpu, fmt::format("here, {}", fmt::join(cpus, ", ")))
      ->capture_default_str();
  explain->add_flag("--json", a->json, "one JSON object");
  explain->callback([a] { run_explain(*a); });
}

}  // namespace fovea
