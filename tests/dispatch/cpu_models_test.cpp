// cpu_models_test.cpp: the whole library on CPUs from before any of its targets to the newest that
// the emulator knows: detection, choice and the kernels themselves.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/generators/program_run.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

struct Model {
  const char* name;
  const char* cpu;     // as qemu spells it
  const char* target;  // what is chosen on it, for every type and pass
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.cpu; }

const Model models[] = {
    {"penryn", "Penryn", "x86-sse41"},
    {"nehalem", "Nehalem", "x86-sse41"},
    {"sandy_bridge", "SandyBridge", "x86-sse41"},
    {"ivy_bridge", "IvyBridge", "x86-sse41"},
    {"haswell", "Haswell", "x86-avx2"},
    {"zen_1", "EPYC", "x86-avx2"},
    {"zen_3", "EPYC-Milan", "x86-avx2"},
    // A hypervisor's choices: single features hidden, and vector registers that nobody saves.
    {"haswell_without_fma", "Haswell,-fma", "x86-sse41"},
    {"haswell_without_bmi2", "Haswell,-bmi2", "x86-sse41"},
    {"haswell_without_f16c", "Haswell,-f16c", "x86-sse41"},
    {"haswell_without_xsave", "Haswell,-xsave", "x86-sse41"},
    // The emulator has no AVX-512: the name of a CPU promises nothing.
    {"skylake_x_without_avx512", "Skylake-Server", "x86-avx2"},
};

class CpuModels : public testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    if (std::string(FOVEA_TEST_QEMU).empty()) GTEST_SKIP() << "qemu-x86_64 is not installed";
  }
};

ProgramRun attend_on(const char* cpu) {
  return run_command({FOVEA_TEST_QEMU, "-cpu", cpu, FOVEA_TEST_ATTEND});
}

TEST_P(CpuModels, RunWhatTheyCan) {
  const ProgramRun run = attend_on(GetParam().cpu);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  for (const char* call : {"f32 prefill", "bf16 prefill", "f32 decode", "bf16 decode"}) {
    EXPECT_THAT(run.output, HasSubstr(std::string(call) + " ok " + GetParam().target + "\n"));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CpuModels, testing::ValuesIn(models),
                         [](const auto& model) { return std::string(model.param.name); });

using NoTargetFits = CpuModels;

TEST_P(NoTargetFits, SaysWhatIsMissing) {
  const ProgramRun run = attend_on(GetParam().cpu);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  for (const char* call : {"f32 prefill", "bf16 prefill", "f32 decode", "bf16 decode"})
    EXPECT_THAT(run.output, HasSubstr(std::string(call) + " unsupported none\n"));
  EXPECT_THAT(run.output, HasSubstr("no kernel of variant causal can run here: x86-sse41: "));
  EXPECT_THAT(run.output, HasSubstr("sse41"));
}

const Model too_old[] = {{"conroe", "Conroe", ""}, {"qemu64", "qemu64,-sse4.1", ""}};
INSTANTIATE_TEST_SUITE_P(Models, NoTargetFits, testing::ValuesIn(too_old),
                         [](const auto& model) { return std::string(model.param.name); });

// On this CPU, whatever it is, the best that its own features allow.
TEST(ThisCpu, RunsWhatItCan) {
  const ProgramRun run = run_command({FOVEA_TEST_ATTEND});
  EXPECT_EQ(run.how, "exit status 0") << run.output;
}

}  // namespace
}  // namespace fovea
