// race_test.cpp: memory that the threads of a block share, watched by an OpenCL driver that
// interprets kernels (Oclgrind). SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "fovea_device_cache.h"
#include "tests/devices/cached_trial.h"
#include "tests/devices/device_trial.h"
#include "tests/generators/scratch_folder.h"

namespace fovea::test {
namespace {

// What the driver has to say about what `run` does, which returns what it has to complain about
// itself: empty when it saw no hazard. The driver is opened once in a process and reads its
// settings then.
std::string hazards_of(const std::function<std::string()>& run, const char* driver) {
  const ScratchFolder folder;
  const std::string log = (folder.path() / "log").string();
  setenv("FOVEA_OPENCL_DRIVER", driver, 1);
  setenv("OCLGRIND_LOG", log.c_str(), 1);
  setenv("OCLGRIND_DATA_RACES", "1", 1);
  setenv("OCLGRIND_UNINITIALIZED", "0", 1);
  setenv("OCLGRIND_MAX_ERRORS", "3", 1);
  setenv("OCLGRIND_NUM_THREADS", "1", 1);
  setenv("OCLGRIND_LOCAL_MEM_SIZE", "49152", 1);
  const std::string complaint = run();
  std::ifstream told(log);
  return complaint + std::string(std::istreambuf_iterator<char>(told), {});
}

std::string try_kernel(const Case& c) {
  // Two whole blocks of keys and a part of one; of decode a chunk and a part of one.
  const bool decodes = c.info().pass == FOVEA_DECODE;
  const KernelTrial::Report report =
      try_on_device(c, {1, 1, 1}, decodes ? 9 : 34, decodes ? 300 : 64);
  return report.passed ? "" : report.text + "\n";
}

class Races : public testing::TestWithParam<Case> {
 protected:
  // One process for each call of a driver.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void end_with(const std::string& hazards) {
  fputs(hazards.c_str(), stderr);
  std::exit(hazards.empty() ? 0 : 1);
}

// https://github.com/ggml-org/llama.cpp/pull/13438
TEST_P(Races, Row136NoHazards) {
  EXPECT_EXIT(end_with(hazards_of([&] { return try_kernel(GetParam()); }, FOVEA_OCLGRIND)),
              testing::ExitedWithCode(0), "^$");
}

TEST(RacesSeen, WhereABarrierOrdersNoMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      end_with(hazards_of([] { return try_kernel(device_kernels()[0]); }, FOVEA_UNFENCED_DRIVER)),
      testing::ExitedWithCode(1), "Read-write data race at local memory");
}

// Appended to and read in both passes; with numbers of pages that there are not, no access leaves
// the pool.
TEST(CacheRaces, NoHazardsWhateverTheBlockTableSays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = []() -> std::string {
    CachedTrial trial(fovea_device_cache_library(), 0, 64, 3);
    for (const char* pass : {"prefill", "decode"}) {
      for (const std::vector<int32_t>& table : {good_table(), bad_table()})
        trial.attend(table, pass);
    }
    return "";
  };
  EXPECT_EXIT(end_with(hazards_of(run, FOVEA_OCLGRIND)), testing::ExitedWithCode(0), "^$");
}

INSTANTIATE_TEST_SUITE_P(, Races, testing::ValuesIn(device_kernels()),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return std::string(tested.param.info().name).substr(6);
                         });

}  // namespace
}  // namespace fovea::test
