// link_kernels.cpp: with ld and objcopy.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/link_kernels.h"

#include <Halide.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generators/emit/child_process.h"
#include "generators/emit/files.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

// What kernels call, and the functions of the runtime that serve them (registry.h). Renamed before
// Halide's own runtime is linked, which has functions of some of these names.
constexpr std::pair<const char*, const char*> renamed_symbols[] = {
    {"halide_malloc", "fovea_scratch_allocate"},
    {"halide_free", "fovea_scratch_release"},
    {"halide_copy_to_device", "fovea_device_copy_to_device"},
    {"halide_cuda_device_interface", "fovea_cuda_device_interface"},
    {"halide_cuda_initialize_kernels", "fovea_cuda_initialize_kernels"},
    {"halide_cuda_finalize_kernels", "fovea_cuda_finalize_kernels"},
    {"halide_cuda_run", "fovea_cuda_run"},
    {"halide_opencl_device_interface", "fovea_opencl_device_interface"},
    {"halide_opencl_initialize_kernels", "fovea_opencl_initialize_kernels"},
    {"halide_opencl_finalize_kernels", "fovea_opencl_finalize_kernels"},
    {"halide_opencl_run", "fovea_opencl_run"},
};

}  // namespace

void link_kernels(const KernelLink& link) {
  const fs::path combined = link.folder / (link.library + "_kernels.o"),
                 kernels = link.folder / "kernels.tmp.o",
                 runtime = link.folder / "halide_runtime.o", linked = link.folder / "linked.tmp.o",
                 log = link.folder / "link.log", visible_list = link.folder / "visible_symbols.txt";
  std::string visible = "fovea_halide_do_par_for\n";
  for (const std::string& symbol : link.symbols) visible += symbol + "\n";
  write_if_changed(visible_list, visible);

  fs::file_time_type newest = fs::last_write_time(visible_list);
  for (const auto* files : {&link.objects, &link.made_by}) {
    for (const fs::path& file : *files) newest = std::max(newest, fs::last_write_time(file));
  }
  if (fs::exists(combined) && fs::last_write_time(combined) >= newest) return;

  const Halide::Target target(link.target);
  // The runtime runs before any choice of a kernel: baseline instructions only.
  Halide::compile_standalone_runtime(runtime.string(),
                                     Halide::Target(target.os, target.arch, target.bits));
  std::vector<std::string> merge = {link.linker, "-r", "-o", kernels.string()};
  for (const fs::path& object : link.objects) merge.push_back(object.string());
  run_program(merge, log);
  std::vector<std::string> rename = {link.objcopy};
  for (const auto& [halide, fovea] : renamed_symbols) {
    rename.emplace_back("--redefine-sym");
    rename.push_back(fmt::format("{}={}", halide, fovea));
  }
  rename.push_back(kernels.string());
  run_program(rename, log);
  // Without section groups: those of the runtime would be dropped in all generated libraries of a
  // program but the first one, whose copies are local by then.
  run_program({link.objcopy, "--remove-section=.group", runtime.string()}, log);
  run_program({link.linker, "-r", "-o", linked.string(), kernels.string(), runtime.string()}, log);
  run_program({link.objcopy, "--redefine-sym", "halide_do_par_for=fovea_halide_do_par_for",
               linked.string()},
              log);
  run_program({link.objcopy, "--keep-global-symbols=" + visible_list.string(), linked.string()},
              log);
  fs::rename(linked, combined);
  for (const fs::path& p : {kernels, runtime, log}) fs::remove(p);
}

}  // namespace fovea
