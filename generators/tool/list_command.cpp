// list_command.cpp: `list`.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "generators/describe/catalogue_page.h"
#include "generators/describe/description.h"
#include "generators/describe/layout.h"
#include "generators/emit/library_spec.h"
#include "generators/emit/spec_json.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct ListArguments {
  bool json = false, kernels = false;
  std::vector<std::string> head_dims = {"64", "128"};
  std::vector<std::string> dtypes = {"f32"};
  std::vector<std::string> passes = {"prefill", "decode"};
  std::vector<std::string> variants, targets;
};

void run_list(const ListArguments& a) {
  std::vector<Variant> variants = declared_variants();
  LibraryRequest request;
  request.name = "list";
  request.dtypes = a.dtypes;
  request.passes = a.passes;
  request.variants = a.variants;
  request.targets = a.targets;
  request.head_dims = a.head_dims;
  LibraryPlan plan;
  if (!variants.empty()) plan = plan_library(request, variants);
  if (!a.variants.empty()) variants = plan.variants;

  if (a.json) {
    nlohmann::ordered_json root;
    root["variants"] = root["kernels"] = root["targets"] = nlohmann::ordered_json::array();
    for (const Variant& v : variants) {
      nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
      for (const auto& p : v.parameters()) parameters.push_back(parameter_json(*p));
      root["variants"].push_back({{"name", v.name()},
                                  {"summary", v.summary_text()},
                                  {"source", v.source_text()},
                                  {"family", v.family_text()},
                                  {"parameters", parameters},
                                  {"hash", hash_text(v.hash())}});
    }
    for (const PlannedKernel& k : plan.kernels) {
      root["kernels"].push_back(spec_json(k.spec));
      root["kernels"].back()["schedule"] = text_of(k.schedule);
    }
    for (const TargetRow& t : target_table()) {
      root["targets"].push_back({{"name", t.name},
                                 {"architecture", t.architecture},
                                 {"halide", t.halide},
                                 {"dtypes", t.dtypes},
                                 {"tested_by", t.tested_by}});
    }
    fmt::print("{}\n", root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  size_t name_width = 0;
  for (const Variant& v : variants) name_width = std::max(name_width, v.name().size());
  for (const auto& [family, members] : by_family(variants)) {
    fmt::print("{}\n", family);
    for (const Variant* v : members)
      fmt::print("{}", wrapped("  " + v->name(), name_width + 4, v->summary_text()));
  }
  fmt::print("targets\n");
  for (const TargetRow& t : target_table())
    fmt::print("  {:<24} {:<14} {}\n", t.name, fmt::format("{}", fmt::join(t.dtypes, " ")),
               t.halide);
  if (!a.kernels) {
    fmt::print("kernels\n  {} of head dimensions {}; --kernels lists them\n", plan.kernels.size(),
               fmt::join(a.head_dims, ", "));
    return;
  }
  fmt::print("kernels (head dimensions {})\n", fmt::join(a.head_dims, ", "));
  for (const PlannedKernel& k : plan.kernels)
    fmt::print("  {:<60} {}\n", kernel_name(k.spec), text_of(k.schedule));
}

}  // namespace

void add_list_command(CLI::App& app) {
  auto a = std::make_shared<ListArguments>();
  CLI::App* list =
      app.add_subcommand("list", "variants, targets and the kernels that emit would build of them");
  list->footer("example: fovea list --json");
  list->add_flag("--json", a->json, "one JSON object with variants, kernels and targets");
  list->add_flag("--kernels", a->kernels, "also each kernel with its schedule");
  list->add_option("--variant", a->variants, "only these")->delimiter(',');
  list->add_option("--pass", a->passes, "passes of the listed kernels")
      ->delimiter(',')
      ->capture_default_str();
  list->add_option("--dtype", a->dtypes, "element types of the listed kernels")
      ->delimiter(',')
      ->capture_default_str();
  list->add_option("--target", a->targets, "targets of the listed kernels")->delimiter(',');
  list->add_option("--head-dim", a->head_dims, "head dimensions of the listed kernels")
      ->delimiter(',')
      ->capture_default_str();
  list->callback([a] { run_list(*a); });
}

}  // namespace fovea
