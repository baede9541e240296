// emit_library.cpp: kernels in parallel processes, then one object and the texts around it.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/emit_library.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "generators/emit/child_process.h"
#include "generators/emit/files.h"
#include "generators/emit/link_kernels.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path kernel_file(const EmitOptions& options, const PlannedKernel& k, const char* extension) {
  return options.out / "kernels" / (kernel_name(k.spec) + extension);
}

// Everything that decides the code of a kernel, as one number.
std::string identity_of(const PlannedKernel& k, const Variant& variant,
                        const std::string& compiler_identity) {
  return hash_text(
      hash_bytes(fmt::format("{}\n{}\n{}", k.symbol, code_text(k, variant), compiler_identity)));
}

std::string compiler_identity(const EmitOptions& options) {
  uint64_t hash = hash_bytes(
      fmt::format("{}.{}.{}", HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH));
  if (options.identity_files.empty()) return hash_text(hash_bytes(read_file(options.self), hash));
  for (const std::string& file : options.identity_files) hash = hash_bytes(read_file(file), hash);
  return hash_text(hash);
}

// True when the kernel's object is there and was made from the same identity; then its facts are
// read back.
bool reuse(PlannedKernel& k, const std::string& identity, const EmitOptions& options) {
  const fs::path facts = kernel_file(options, k, ".json");
  if (!fs::exists(facts) || !fs::exists(kernel_file(options, k, ".o"))) return false;
  if (options.by_products.assembly &&
      !fs::exists(kernel_file(options, k, assembly_extension(*find_target(k.spec.target)))))
    return false;
  if (options.by_products.statement && !fs::exists(kernel_file(options, k, ".stmt"))) return false;
  try {
    const Json json = Json::parse(read_file(facts));
    if (json.at("identity").get<std::string>() != identity) return false;
    k.facts.block_rows = json.at("block_rows").get<int>();
    k.facts.scratch_bytes = json.at("scratch_bytes").get<size_t>();
    k.facts.tile_fallback = json.at("tile_fallback").get<std::string>();
    k.facts.threads = json.at("threads").get<int>();
    k.facts.shared_bytes = json.at("shared_bytes").get<size_t>();
    k.facts.tile_rows = json.at("tile_rows").get<std::vector<int>>();
    k.facts.key_block = json.at("key_block").get<int>();
    k.facts.chunk_blocks = json.at("chunk_blocks").get<int>();
    k.facts.record_lanes = json.at("record_lanes").get<int>();
    k.facts.record_slots = json.at("record_slots").get<int>();
    k.facts.record_groups = json.at("record_groups").get<int>();
    k.facts.range_of_head = json.at("range_of_head").get<bool>();
  } catch (const Json::exception&) {
    return false;  // a record that does not read is no record
  }
  return true;
}

void compile_missing(LibraryPlan& plan, const EmitOptions& options) {
  const std::string compiler = compiler_identity(options);
  std::vector<ChildJob> jobs;
  std::vector<std::pair<PlannedKernel*, std::string>> missing;
  for (PlannedKernel& k : plan.kernels) {
    if (k.is_copy) continue;
    const std::string identity = identity_of(k, plan.variants[k.variant], compiler);
    if (reuse(k, identity, options)) continue;
    // A record without its object, or the reverse, must not survive an interruption.
    fs::remove(kernel_file(options, k, ".json"));
    std::vector<std::string> command = {options.self.string(),
                                        "emit-kernel",
                                        "--library",
                                        plan.name,
                                        "--kernel",
                                        kernel_name(k.spec),
                                        "--identity",
                                        identity,
                                        "--schedule",
                                        text_of(k.schedule),
                                        "--out",
                                        options.out.string()};
    if (options.by_products.assembly) command.emplace_back("--assembly");
    if (options.by_products.statement) command.emplace_back("--statement");
    jobs.push_back({kernel_name(k.spec), command, kernel_file(options, k, ".log")});
    missing.emplace_back(&k, identity);
  }
  size_t done = 0;
  std::string failure;
  run_children(jobs, options.jobs, [&](size_t i, const ChildResult& result) {
    const std::string log = read_file(jobs[i].log);
    fmt::print(stderr, "[{}/{}] {}{}\n", ++done, jobs.size(), jobs[i].name,
               result.ok ? "" : ": failed");
    if (!log.empty()) fmt::print(stderr, "{}", log);
    if (!result.ok)
      failure = fmt::format("kernel {} failed with {}:\n{}", jobs[i].name, result.how, log);
    if (result.ok && !reuse(*missing[i].first, missing[i].second, options)) {
      failure = fmt::format("kernel {} left no record", jobs[i].name);
    }
  });
  if (!failure.empty()) throw std::runtime_error(failure);
  std::map<std::string, KernelFacts> facts;
  for (const PlannedKernel& k : plan.kernels) {
    if (!k.is_copy) facts[k.symbol] = k.facts;
  }
  for (PlannedKernel& k : plan.kernels) k.facts = facts.at(k.symbol);
}

// Objects of kernels that are no longer asked for would be found by nobody, but confuse who looks;
// and a compiler that was killed leaves its unfinished object.
void remove_leftovers(const LibraryPlan& plan, const EmitOptions& options) {
  std::set<std::string> names;
  for (const PlannedKernel& k : plan.kernels) {
    if (!k.is_copy) names.insert(kernel_name(k.spec));
  }
  for (const auto& entry : fs::directory_iterator(options.out / "kernels")) {
    const std::string file = entry.path().filename().string(),
                      name = file.substr(0, file.find('.'));
    const bool unfinished = file.find(".tmp") != std::string::npos;
    if (parse_kernel_name(name) && (unfinished || !names.count(name))) fs::remove(entry.path());
  }
}

// A program of binutils that works on objects of the targets, by its usual name.
std::string binutils_program(const LibraryPlan& plan, const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const std::string architecture = plan.targets.front()->host();
  if (architecture == host_architecture()) return name;
  return (architecture == "arm64" ? "aarch64-linux-gnu-" : "x86_64-linux-gnu-") + std::string(name);
}

// Again only when something that it is made from is newer than it.
void link_planned(const LibraryPlan& plan, const EmitOptions& options) {
  KernelLink link;
  link.library = plan.name;
  link.folder = options.out;
  link.target = plan.targets.front()->halide;
  link.linker = binutils_program(plan, options.linker, "ld");
  link.objcopy = binutils_program(plan, options.objcopy, "objcopy");
  for (const PlannedKernel& k : plan.kernels) {
    if (k.is_copy) continue;
    link.objects.push_back(kernel_file(options, k, ".o"));
    for (const std::string& symbol : kernel_symbols(k)) link.symbols.push_back(symbol);
  }
  // The steps are code of the generator: when that changes, so may what they make.
  if (options.identity_files.empty()) link.made_by.push_back(options.self);
  for (const std::string& file : options.identity_files) link.made_by.emplace_back(file);
  link_kernels(link);
}

}  // namespace

void emit_kernel(const LibraryPlan& plan, const PlannedKernel& k, const std::string& identity,
                 const EmitOptions& options) {
  const fs::path object = kernel_file(options, k, ".o"),
                 temporary = kernel_file(options, k, ".tmp.o");
  const KernelFacts facts = compile_kernel(plan.variants[k.variant], k.spec, k.schedule, k.symbol,
                                           temporary.string(), options.by_products);
  if (!facts.tile_fallback.empty()) {
    fmt::print(stderr, "  note: fewer key blocks are skipped or run without mask: {}\n",
               facts.tile_fallback);
  }
  fs::rename(temporary, object);
  const Json json = {{"identity", identity},
                     {"block_rows", facts.block_rows},
                     {"scratch_bytes", facts.scratch_bytes},
                     {"tile_fallback", facts.tile_fallback},
                     {"threads", facts.threads},
                     {"shared_bytes", facts.shared_bytes},
                     {"tile_rows", facts.tile_rows},
                     {"key_block", facts.key_block},
                     {"chunk_blocks", facts.chunk_blocks},
                     {"record_lanes", facts.record_lanes},
                     {"record_slots", facts.record_slots},
                     {"record_groups", facts.record_groups},
                     {"range_of_head", facts.range_of_head}};
  write_if_changed(kernel_file(options, k, ".json"), json.dump(2) + "\n");
}

void emit_library(LibraryPlan plan, const EmitOptions& options) {
  fs::create_directories(options.out / "kernels");
  fs::create_directories(options.out / "include");
  compile_missing(plan, options);
  remove_leftovers(plan, options);
  link_planned(plan, options);
  write_if_changed(options.out / "include" / (plan.name + ".h"), c_header(plan));
  write_if_changed(options.out / "include" / (plan.name + ".hpp"), cpp_header(plan));
  write_if_changed(options.out / (plan.name + "_registry.cpp"), registry_source(plan));
  write_if_changed(options.out / (plan.name + ".json"), manifest(plan));
}

}  // namespace fovea
