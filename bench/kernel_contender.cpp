// kernel_contender.cpp: a generated kernel, loaded from a shared library.
// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_contender.h"

#include <dlfcn.h>
#include <fovea/fovea.hpp>

#include <cstring>
#include <vector>

#include "bench/caches.h"
#include "bench/kernel_build.h"
#include "bench/large_memory.h"
#include "bench/samples.h"

namespace fovea::bench {
namespace {

// What is called of a library. It stays loaded: its thread pool may still be running.
struct LoadedLibrary {
  const fovea_library_info* info = nullptr;
  decltype(&fovea_variant_run) run = nullptr;
  decltype(&fovea_variant_workspace) workspace = nullptr;
  decltype(&fovea_variant_append) append = nullptr;
  decltype(&fovea_last_message) message = nullptr;

  explicit LoadedLibrary(const std::filesystem::path& file) {
    // Every library brings its own runtime, which must not be mixed with that of another.
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw Unavailable(dlerror());
    const auto find = [&](const std::string& name) {
      void* symbol = dlsym(handle, name.c_str());
      if (!symbol) throw Unavailable(file.string() + " has no " + name);
      return symbol;
    };
    run = reinterpret_cast<decltype(run)>(find("fovea_variant_run"));
    workspace = reinterpret_cast<decltype(workspace)>(find("fovea_variant_workspace"));
    append = reinterpret_cast<decltype(append)>(find("fovea_variant_append"));
    message = reinterpret_cast<decltype(message)>(find("fovea_last_message"));
    info = reinterpret_cast<const fovea_library_info* (*)()>(
        find(std::string(kernel_library_name) + "_library"))();
  }
};

class KernelContender : public Contender {
 public:
  KernelContender(const std::filesystem::path& file, const KernelChoice& choice,
                  const Problem& problem)
      : library_(file), problem_(problem), choice_(choice), call_(problem.call()) {
    const auto copy = [](fovea_tensor& tensor, size_t bytes, LargeVector<unsigned char>& own) {
      const auto* first = static_cast<const unsigned char*>(tensor.data);
      own.assign(first, first + bytes);
      tensor.data = own.data();
    };
    copy(call_.q, problem.q_bytes(), q_);
    if (choice.cache.kind == "none") {
      copy(call_.k, problem.k_bytes(), k_);
      copy(call_.v, problem.v_bytes(), v_);
    } else {
      cache_ = std::make_unique<KvCache>(choice.cache, problem);
      const fovea_status status =
          library_.append(library_.info, 0, &cache_->append(), problem.parameters().data());
      if (status != FOVEA_OK) throw Unavailable(library_.message());
      cache_->attach(call_);
    }
    copy(call_.out, problem.out_bytes(), out_);
    exec_.threads = choice_.threads;
    exec_.target = choice_.target.c_str();
    exec_.pass = choice_.pass.c_str();
    call_.exec = &exec_;
    // 0 if the call is refused, which is reported when it is made.
    workspace_.resize(library_.workspace(library_.info, 0, &call_));
    call_.workspace = workspace_.data();
    call_.workspace_size = workspace_.size();
  }

  double run(const TimedCalls& timed) override {
    if (timed.warm_up) call();
    if (!timed.cold) {
      return seconds_of([&] {
        for (int i = 0; i < timed.calls; ++i) call();
      });
    }
    double seconds = 0;
    for (int i = 0; i < timed.calls; ++i) {
      flush_caches();
      seconds += seconds_of([&] { call(); });
    }
    return seconds;
  }

  void write_output() override { std::memcpy(problem_.call().out.data, out_.data(), out_.size()); }

  double more_error() const override { return cache_ ? cache_->error(problem_) : 0; }

  double bytes() const override {
    if (!cache_) return 0;
    return cache_->bytes() + static_cast<double>(problem_.q_bytes() + problem_.out_bytes());
  }

 private:
  void call() {
    const fovea_status status =
        library_.run(library_.info, 0, &call_, problem_.parameters().data());
    if (status != FOVEA_OK) throw Unavailable(library_.message());
  }

  LoadedLibrary library_;
  const Problem& problem_;
  KernelChoice choice_;
  fovea_call call_;
  Exec exec_;
  LargeVector<unsigned char> q_, k_, v_, out_, workspace_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace

std::unique_ptr<Contender> kernel_contender(const std::filesystem::path& library,
                                            const KernelChoice& choice, const Problem& problem) {
  return std::make_unique<KernelContender>(library, choice, problem);
}

}  // namespace fovea::bench
