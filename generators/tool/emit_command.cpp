// emit_command.cpp: `emit` and `emit-kernel`.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

#include "generators/emit/emit_library.h"
#include "generators/emit/files.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct EmitArguments {
  LibraryRequest request;
  EmitOptions options;
  std::string kernel, identity;
  bool json = false;
};

void add_by_products(CLI::App& command, EmitArguments& a) {
  command.add_flag("--assembly", a.options.by_products.assembly,
                   "keep the assembly of each kernel beside its object");
  command.add_flag("--statement", a.options.by_products.statement,
                   "keep the lowered Halide statement of each kernel");
}

void say_where_schedules_are_from(const LibraryPlan& plan) {
  for (const std::string& note : plan.notes) fmt::print(stderr, "{}\n", note);
  for (const PlannedKernel& k : plan.kernels)
    fmt::print(stderr, "schedule of {}: {}\n", kernel_name(k.spec), k.schedule_from);
}

void run_emit(EmitArguments& a) {
  a.options.self = std::filesystem::read_symlink("/proc/self/exe");
  if (a.options.jobs < 0)
    throw std::invalid_argument(
        fmt::format("--jobs is {}: allowed is 0 (one per CPU) and more", a.options.jobs));
  if (a.options.jobs == 0)
    a.options.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const std::vector<std::string>& caches = a.request.caches;
  const bool fills_caches = std::any_of(caches.begin(), caches.end(),
                                        [](const std::string& cache) { return cache != "none"; });
  std::vector<std::string>& passes = a.request.passes;
  if (fills_caches && std::find(passes.begin(), passes.end(), "append") == passes.end())
    passes.emplace_back("append");
  const LibraryPlan plan = plan_library(a.request, declared_variants());
  if (!a.request.tuned.empty()) say_where_schedules_are_from(plan);
  emit_library(plan, a.options);
  if (a.json) fmt::print("{}", read_file(a.options.out / (a.request.name + ".json")));
}

void run_emit_kernel(EmitArguments& a) {
  const std::optional<KernelSpec> spec = parse_kernel_name(a.kernel);
  if (!spec) throw std::invalid_argument(fmt::format("--kernel '{}': not a kernel name", a.kernel));
  a.request.variants = {spec->variant};
  a.request.targets = {spec->target};
  a.request.dtypes = {spec->dtype};
  a.request.passes = {spec->pass};
  a.request.caches = {spec->cache};
  a.request.head_dims = {fmt::format("{}/{}", spec->d_qk, spec->d_v)};
  const LibraryPlan plan = plan_library(a.request, declared_variants());
  PlannedKernel kernel = plan.kernels.front();
  kernel.spec = *spec;
  kernel.symbol = kernel_symbol(plan.name, *spec);
  emit_kernel(plan, kernel, a.identity, a.options);
}

}  // namespace

void add_emit_commands(CLI::App& app) {
  auto a = std::make_shared<EmitArguments>();
  a->request.dtypes = {"f32"};
  a->request.passes = {"prefill", "decode"};
  a->request.head_dims = {"64", "128"};
  a->options.jobs = 0;

  CLI::App* emit =
      app.add_subcommand("emit", "write the objects, headers, registry and manifest of a library");
  emit->footer(
      "example: fovea emit --library my_attention --variant causal --target x86-avx2 --head-dim 64 "
      "--out out");
  emit->add_option("--library", a->request.name,
                   "name of the library: prefix of its functions and files")
      ->required();
  emit->add_option("--out", a->options.out,
                   "folder to write into; kernels found there are reused while they are valid")
      ->required();
  emit->add_option("--variant", a->request.variants,
                   "variants to build; default: all declared ones")
      ->delimiter(',');
  emit->add_option("--target", a->request.targets,
                   "targets; default: all of the architecture that are for one of the element "
                   "types")
      ->delimiter(',');
  emit->add_option("--architecture", a->request.architecture,
                   "architecture of the targets; default: that of --target, or of this machine");
  emit->add_option("--dtype", a->request.dtypes, "element types: f32, f16, bf16")
      ->delimiter(',')
      ->capture_default_str();
  emit->add_option("--head-dim", a->request.head_dims, "head dimensions, D or D_QK/D_V")
      ->delimiter(',')
      ->capture_default_str();
  emit->add_option("--pass", a->request.passes, "passes")->delimiter(',')->capture_default_str();
  emit->add_option("--kv-cache,--cache", a->request.caches,
                   "what keys and values are read from: none (rows as they are), or caches (pages, "
                   "rings) of the element type itself (same) or of int8, int4, e4m3, e5m2; with "
                   "caches come the functions that append to them")
      ->delimiter(',')
      ->capture_default_str();
  emit->add_option("--schedule", a->request.schedule,
                   "parameters of the schedule that differ from the default, as "
                   "row_vectors=3,key_tile=8");
  emit->add_option(
      "--tuned", a->request.tuned,
      "tuning files (fovea tune); for each kernel the first that has an entry, else the "
      "documented default");
  emit->add_option("--jobs", a->options.jobs, "kernels compiled at once; 0: one per CPU")
      ->capture_default_str();
  emit->add_option(
      "--identity-file", a->options.identity_files,
      "files whose contents are part of every kernel's identity; default: this program");
  emit->add_option("--linker", a->options.linker,
                   "program that links objects (ld -r); default: ld of binutils for the "
                   "architecture of the targets, aarch64-linux-gnu-ld for arm64 elsewhere");
  emit->add_option("--objcopy", a->options.objcopy,
                   "program that renames symbols; default: objcopy in the same way");
  add_by_products(*emit, *a);
  emit->add_flag("--json", a->json, "print the manifest of what was written");
  emit->callback([a] { run_emit(*a); });

  CLI::App* one = app.add_subcommand("emit-kernel", "compile one kernel; started by emit");
  one->group("");  // not for people
  one->add_option("--library", a->request.name)->required();
  one->add_option("--out", a->options.out)->required();
  one->add_option("--kernel", a->kernel)->required();
  one->add_option("--identity", a->identity)->required();
  one->add_option("--schedule", a->request.schedule);
  add_by_products(*one, *a);
  one->callback([a] { run_emit_kernel(*a); });
}

}  // namespace fovea
