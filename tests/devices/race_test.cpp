// race_test.cpp: memory that the threads of a block share, watched by an OpenCL driver that
// interprets kernels (Oclgrind). SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/kernel_trial.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/devices/opencl_kernels.h"
#include "tests/generators/scratch_folder.h"

namespace fovea::test {
namespace {

// What the driver has to say about a call: empty when it saw no hazard. The driver is opened once
// in a process and reads its settings then.
std::string hazards_of(const Case& c, const char* driver) {
  const ScratchFolder folder;
  const std::string log = (folder.path() / "log").string();
  setenv("FOVEA_OPENCL_DRIVER", driver, 1);
  setenv("OCLGRIND_LOG", log.c_str(), 1);
  setenv("OCLGRIND_DATA_RACES", "1", 1);
  setenv("OCLGRIND_UNINITIALIZED", "0", 1);
  setenv("OCLGRIND_MAX_ERRORS", "3", 1);
  setenv("OCLGRIND_NUM_THREADS", "1", 1);
  setenv("OCLGRIND_LOCAL_MEM_SIZE", "49152", 1);
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  exec.pass = c.info().pass == FOVEA_DECODE ? "decode" : "prefill";
  const auto run = [&](const fovea_call* call, const void* params) -> std::string {
    const fovea_status status = fovea_variant_run(c.library, c.info().variant, call, params);
    return status == FOVEA_OK ? "" : fovea_last_message();
  };
  // Two whole blocks of keys and a part of one; of decode a chunk and a part of one.
  const bool decodes = c.info().pass == FOVEA_DECODE;
  const ExampleShape shape = {.batch = 1,
                              .heads = 1,
                              .kv_heads = 1,
                              .q_len = decodes ? 9 : 34,
                              .kv_len = decodes ? 300 : 64,
                              .d_qk = c.info().d_qk,
                              .d_v = c.info().d_v};
  KernelTrial trial(declaration_of(c), shape, run, c.info().dtype);
  trial.call().exec = &exec;
  const KernelTrial::Report report = trial.check();
  std::ifstream told(log);
  return (report.passed ? "" : report.text + "\n") +
         std::string(std::istreambuf_iterator<char>(told), {});
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
  EXPECT_EXIT(end_with(hazards_of(GetParam(), FOVEA_OCLGRIND)), testing::ExitedWithCode(0), "^$");
}

TEST(RacesSeen, WhereABarrierOrdersNoMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_with(hazards_of(device_kernels()[0], FOVEA_UNFENCED_DRIVER)),
              testing::ExitedWithCode(1), "Read-write data race at local memory");
}

INSTANTIATE_TEST_SUITE_P(, Races, testing::ValuesIn(device_kernels()),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return std::string(tested.param.info().name).substr(6);
                         });

}  // namespace
}  // namespace fovea::test
