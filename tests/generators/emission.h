// emission.h: one small library, emitted once for all tests of a program.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_GENERATORS_EMISSION_H
#define FOVEA_TESTS_GENERATORS_EMISSION_H

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "program_run.h"

namespace fovea {

class SmallLibrary {
 public:
  static constexpr const char* variants[] = {"causal", "causal_window", "full"};

  std::filesystem::path out() const { return folder_.path() / "out"; }

  // Small head dimensions compile fast.
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"emit",  "--pass",       "prefill",  "--library",  "small",
                                    "--out", out().string(), "--target", "x86-avx2",   "--head-dim",
                                    "16",    "--jobs",       "2",        "--statement"};
    for (const char* v : variants) all.insert(all.end(), {"--variant", v});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static std::string kernel(const std::string& variant) {
    return "fovea_prefill__" + variant + "__f32__d16__x86_avx2";
  }
  std::filesystem::path kernel_file(const std::string& variant,
                                    const std::string& extension) const {
    return out() / "kernels" / (kernel(variant) + extension);
  }

 private:
  ScratchFolder folder_;
};

// The library all tests share. Emitted on first use; a test that changes it puts it right again.
inline const SmallLibrary& emitted_library() {
  static const SmallLibrary library;
  static const ProgramRun first = run_fovea(library.arguments());
  EXPECT_EQ(first.how, "exit status 0") << first.output;
  return library;
}

}  // namespace fovea

#endif
