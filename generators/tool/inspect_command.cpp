// inspect_command.cpp: `inspect`: the code of kernels: size, vectors, spills, calls, inner loops.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "bench/default_target.h"
#include "bench/problem.h"
#include "generators/describe/call_shape.h"
#include "generators/describe/description.h"
#include "generators/emit/emit_library.h"
#include "generators/inspect/inspection.h"
#include "generators/inspect/temporary_folder.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

struct InspectArguments {
  std::vector<std::string> paths;
  LibraryRequest request;
  std::string shape;
  InspectOptions options;
  bool json = false, assembly = false;
};

// A folder that emit wrote holds one object for each kernel; so does its sub-folder.
std::vector<fs::path> objects_in(const fs::path& path) {
  if (!fs::exists(path))
    throw std::invalid_argument(fmt::format(
        "'{}' is not there: allowed is an object (.o), an archive (.a) or a folder that emit wrote",
        path.string()));
  if (!fs::is_directory(path)) return {path};
  const fs::path kernels = fs::is_directory(path / "kernels") ? path / "kernels" : path;
  std::vector<fs::path> objects;
  for (const auto& entry : fs::directory_iterator(kernels)) {
    if (entry.path().extension() == ".o") objects.push_back(entry.path());
  }
  std::sort(objects.begin(), objects.end());
  if (objects.empty())
    throw std::invalid_argument(fmt::format("'{}' holds no kernels/*.o", path.string()));
  return objects;
}

// Kernels of declared variants are compiled for this, into a folder that goes again.
std::vector<InspectedKernel> inspect_declared(InspectArguments& a) {
  if (a.request.targets.empty()) {
    for (const std::string& dtype : a.request.dtypes) {
      const std::string target = bench::default_target(bench::parse_element_type(dtype), dtype);
      if (std::find(a.request.targets.begin(), a.request.targets.end(), target) ==
          a.request.targets.end())
        a.request.targets.push_back(target);
    }
  }
  const ExampleShape shape = parse_call_shape(a.shape, default_call_shape);
  a.request.name = "inspect";
  a.request.head_dims = {fmt::format("{}/{}", shape.d_qk, shape.d_v)};
  const LibraryPlan plan = plan_library(a.request, declared_variants());
  const TemporaryFolder folder("fovea-inspect");
  EmitOptions options;
  options.out = folder.path();
  fs::create_directories(options.out / "kernels");
  std::vector<InspectedKernel> all;
  for (const PlannedKernel& k : plan.kernels) {
    fmt::print(stderr, "[{}/{}] {}\n", all.size() + 1, plan.kernels.size(), kernel_name(k.spec));
    emit_kernel(plan, k, "", options);
    const fs::path object = options.out / "kernels" / (kernel_name(k.spec) + ".o");
    for (InspectedKernel& one : inspect_object(object, a.options)) {
      one.schedule = text_of(k.schedule);
      all.push_back(std::move(one));
    }
  }
  return all;
}

void run_inspect(InspectArguments& a) {
  std::vector<InspectedKernel> kernels;
  if (a.paths.empty() == a.request.variants.empty())
    throw std::invalid_argument("inspect takes either --variant or a file or folder");
  if (a.paths.empty()) kernels = inspect_declared(a);
  for (const std::string& path : a.paths) {
    for (const fs::path& object : objects_in(path)) {
      for (InspectedKernel& k : inspect_object(object, a.options)) kernels.push_back(std::move(k));
    }
  }
  if (a.json) {
    fmt::print("{}\n", inspection_json(kernels, a.assembly)
                           .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", inspection_text(kernels, a.assembly));
  }
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto a = std::make_shared<InspectArguments>();
  a->request.passes = {"prefill"};
  a->request.dtypes = {"f32"};
  CLI::App* inspect = app.add_subcommand(
      "inspect", "the code of kernels: size, vectors, spills, calls, cycles of the inner loops");
  inspect->footer(
      "example: fovea inspect --variant causal --target x86-avx2 --shape d=64 --assembly\n"
      "         fovea inspect build/my_attention.fovea\n"
      "cycles are those of llvm-mca: one core, every load from the first cache");
  inspect->add_option("path", a->paths, "objects, archives, or folders that emit wrote");
  inspect->add_option("--variant", a->request.variants, "kernels to compile for this")
      ->delimiter(',');
  inspect->add_option("--pass", a->request.passes, "prefill, decode")
      ->delimiter(',')
      ->capture_default_str();
  inspect->add_option("--dtype", a->request.dtypes, "element types: f32, f16, bf16")
      ->delimiter(',')
      ->capture_default_str();
  inspect->add_option("--shape", a->shape,
                      "of which only the head dimensions count; default: d=64");
  inspect
      ->add_option("--target", a->request.targets,
                   "targets; default: the one the dispatcher would choose")
      ->delimiter(',');
  inspect
      ->add_option("--kv-cache", a->request.caches,
                   "what keys and values are read from, as in emit")
      ->delimiter(',')
      ->capture_default_str();
  inspect->add_option("--schedule", a->request.schedule,
                      "parameters of the schedule that differ from the default, as "
                      "row_vectors=3,key_tile=8");
  inspect
      ->add_option("--cpu", a->options.cpu,
                   "whose cycles llvm-mca counts: native, znver4, haswell, neoverse-n1, …")
      ->capture_default_str();
  inspect->add_option("--loops", a->options.loops, "inner loops of each kernel to look at closely")
      ->capture_default_str();
  inspect->add_flag("--assembly", a->assembly, "show the instructions of these loops");
  inspect->add_flag("--json", a->json, "one JSON object");
  inspect->callback([a] { run_inspect(*a); });
}

}  // namespace fovea
