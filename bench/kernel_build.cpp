// kernel_build.cpp: kernels as shared libraries in a cache folder.
// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "generators/emit/child_process.h"
#include "generators/emit/emit_library.h"
#include "generators/emit/files.h"

namespace fovea::bench {
namespace {

namespace fs = std::filesystem;

// Held while files of a cache are made.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) {
    const fs::path file = folder / "lock";
    descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0)
      throw std::runtime_error(
          fmt::format("cannot lock {}: {}", file.string(), std::strerror(errno)));
  }
  ~FolderLock() { close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// As fovea_add_library compiles it.
std::vector<std::string> compiler(const BuildOptions& options) {
  return {options.cxx, "-std=gnu++17", "-O2", "-fPIC", "-I" + options.runtime_headers.string()};
}

// The runtime's objects, compiled once for each of its states.
std::vector<fs::path> runtime_objects(const BuildOptions& options) {
  uint64_t state = hash_bytes(options.cxx);
  for (const fs::path& folder : {options.runtime_sources, options.runtime_headers / "fovea"}) {
    for (const fs::path& file : files_of(folder)) {
      // The DSL's headers lie beside the runtime's in an installed tree.
      if (file.parent_path().filename() != "dsl") state = hash_bytes(read_file(file), state);
    }
  }
  const fs::path out = options.cache / fmt::format("runtime-{}", hash_text(state));
  fs::create_directories(out);
  std::vector<fs::path> objects;
  std::vector<ChildJob> jobs;
  for (const fs::path& source : files_of(options.runtime_sources)) {
    if (source.extension() != ".cpp") continue;
    objects.push_back(out / (source.stem().string() + ".o"));
    if (fs::exists(objects.back())) continue;
    std::vector<std::string> command = compiler(options);
    const fs::path temporary = objects.back().string() + ".tmp";
    command.insert(command.end(), {"-fno-exceptions", "-fno-rtti", "-c", source.string(), "-o",
                                   temporary.string()});
    jobs.push_back({source.filename().string(), command, out / (source.stem().string() + ".log")});
  }
  if (!jobs.empty()) fmt::print(stderr, "compiling the runtime ({} files)\n", jobs.size());
  std::string failure;
  run_children(jobs, options.jobs, [&](size_t i, const ChildResult& result) {
    const std::string temporary = jobs[i].command.back();
    if (result.ok) {
      fs::rename(temporary, temporary.substr(0, temporary.size() - 4));
    } else {
      failure = fmt::format("the runtime does not compile: {} failed with {}:\n{}", jobs[i].name,
                            result.how, read_file(jobs[i].log));
    }
  });
  if (!failure.empty()) throw std::runtime_error(failure);
  return objects;
}

bool newer_than(const fs::path& file, const std::vector<fs::path>& inputs) {
  if (!fs::exists(file)) return false;
  return std::all_of(inputs.begin(), inputs.end(), [&](const fs::path& input) {
    return fs::last_write_time(input) <= fs::last_write_time(file);
  });
}

// Runs every job, whatever happens to the others.
void run_all(const std::vector<ChildJob>& jobs, int at_once,
             const std::function<void(size_t, const ChildResult&)>& finished) {
  std::vector<size_t> waiting(jobs.size());
  for (size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
  while (!waiting.empty()) {
    std::vector<ChildJob> now;
    for (const size_t i : waiting) now.push_back(jobs[i]);
    std::vector<size_t> done;
    run_children(now, at_once, [&](size_t i, const ChildResult& result) {
      done.push_back(waiting[i]);
      finished(waiting[i], result);
    });
    std::erase_if(waiting,
                  [&](size_t i) { return std::find(done.begin(), done.end(), i) != done.end(); });
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

void build_kernels(std::vector<BuiltKernel>& kernels, const std::vector<Variant>& declared,
                   const BuildOptions& options) {
  fs::create_directories(options.cache);
  const FolderLock lock(options.cache);
  const std::vector<fs::path> runtime = runtime_objects(options);
  const std::string self = options.self.empty() ? fs::read_symlink("/proc/self/exe") : options.self;

  std::vector<BuiltKernel*> planned;
  std::vector<fs::path> folders;
  std::vector<ChildJob> emit;
  for (BuiltKernel& k : kernels) {
    LibraryRequest request;
    request.name = kernel_library_name;
    request.variants = {k.spec.variant};
    request.targets = {k.spec.target};
    request.dtypes = {k.spec.dtype};
    request.head_dims = {fmt::format("{}/{}", k.spec.d_qk, k.spec.d_v)};
    request.passes = {k.spec.pass};
    request.caches = {k.spec.cache};
    request.schedule = k.overrides;
    try {
      k.schedule = text_of(plan_library(request, declared).kernels.at(0).schedule);
    } catch (const std::exception& error) {
      k.error = error.what();
      continue;
    }
    planned.push_back(&k);
    folders.push_back(options.cache / fmt::format("{}-{}", kernel_name(k.spec),
                                                  hash_text(hash_bytes(k.schedule)).substr(8)));
    fs::create_directories(folders.back());
    emit.push_back({kernel_name(k.spec),
                    {self,         "emit",
                     "--library",  request.name,
                     "--variant",  k.spec.variant,
                     "--target",   k.spec.target,
                     "--dtype",    k.spec.dtype,
                     "--head-dim", request.head_dims[0],
                     "--pass",     k.spec.pass,
                     "--cache",    k.spec.cache,
                     "--schedule", k.schedule,
                     "--out",      folders.back().string(),
                     "--jobs",     "1"},
                    folders.back() / "emit.log",
                    options.limits});
  }
  size_t done = 0;
  run_all(emit, options.jobs, [&](size_t i, const ChildResult& result) {
    const std::string log = read_file(emit[i].log);
    ++done;
    // Nothing is printed of a kernel that was there.
    if (!log.empty() && !options.quiet)
      fmt::print(stderr, "[{}/{}] kernel {} ({})\n", done, emit.size(), emit[i].name,
                 planned[i]->schedule);
    planned[i]->timed_out = result.timed_out;
    if (!result.ok)
      planned[i]->error = log.empty() || result.timed_out ? result.how : last_line(log);
  });

  std::vector<ChildJob> link;
  std::vector<size_t> linked;
  for (size_t i = 0; i < planned.size(); ++i) {
    if (!planned[i]->error.empty()) continue;
    const fs::path registry = folders[i] / fmt::format("{}_registry.cpp", kernel_library_name),
                   object = folders[i] / fmt::format("{}_kernels.o", kernel_library_name);
    planned[i]->library = folders[i] / "kernel.so";
    std::vector<fs::path> inputs = {registry, object};
    inputs.insert(inputs.end(), runtime.begin(), runtime.end());
    if (newer_than(planned[i]->library, inputs)) continue;
    std::vector<std::string> command = compiler(options);
    command.insert(command.end(), {"-I" + (folders[i] / "include").string(), "-shared",
                                   "-Wl,-Bsymbolic", "-pthread"});
    for (const fs::path& input : inputs) command.push_back(input.string());
    command.insert(command.end(), {"-ldl", "-o", planned[i]->library.string() + ".tmp"});
    link.push_back({emit[i].name, command, folders[i] / "link.log", options.limits});
    linked.push_back(i);
  }
  run_all(link, options.jobs, [&](size_t i, const ChildResult& result) {
    BuiltKernel& k = *planned[linked[i]];
    if (result.ok) {
      fs::rename(k.library.string() + ".tmp", k.library);
    } else {
      k.timed_out = result.timed_out;
      k.error =
          fmt::format("{} failed with {}: {}", options.cxx, result.how, read_file(link[i].log));
    }
  });
}

fs::path default_cache() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return fs::path(folder) / "fovea";
  if (const char* home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "fovea";
  return fs::temp_directory_path() / "fovea-cache";
}

BuildOptions default_build_options(const std::string& cxx, const std::string& runtime) {
  BuildOptions options;
  options.cxx = cxx.empty() ? FOVEA_BENCH_CXX : cxx;
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  // Sources and headers of the runtime in a given tree, an installed one and the source tree.
  std::vector<std::pair<fs::path, fs::path>> places = {
      {prefix / "share/fovea/runtime/src", prefix / "include"},
      {fs::path(FOVEA_BENCH_RUNTIME_DIR) / "src", fs::path(FOVEA_BENCH_RUNTIME_DIR) / "include"}};
  if (!runtime.empty()) {
    const fs::path given = runtime;
    places = {{given / "src", given / "include"},
              {given / "share/fovea/runtime/src", given / "include"}};
  }
  for (const auto& [sources, headers] : places) {
    if (!fs::exists(sources / "entry.cpp") || !fs::exists(headers / "fovea/fovea.h")) continue;
    options.runtime_sources = sources;
    options.runtime_headers = headers;
    return options;
  }
  throw std::runtime_error(
      fmt::format("the sources of the runtime are not in {}; --runtime names the source tree's "
                  "runtime folder, or the prefix of an installation",
                  places.back().first.string()));
}

}  // namespace fovea::bench
