// opencl_call_test.cpp: calls in memory of an OpenCL device and with copies, against the CPU.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/half_precision.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fovea_device_half.h"
#include "fovea_device_kinds.h"
#include "runtime/src/gpu/device.h"

namespace fovea::test {
namespace {

using testing::HasSubstr;

// [1, heads, rows, 64] of numbers that no two places share.
struct Tensor {
  std::vector<float> numbers;
  fovea_tensor tensor;

  Tensor(int64_t heads, int64_t rows, float seed)
      : numbers(static_cast<size_t>(heads * rows * 64)) {
    float x = seed;
    for (float& n : numbers) {
      x = std::fmod(x * 1.37f + 0.71f, 1.9f);
      n = x - 0.95f;
    }
    tensor = {
        numbers.data(), FOVEA_F32, {1, heads, rows, 64}, {heads * rows * 64, rows * 64, 64, 1}};
  }
};

class OpenClCall : public testing::Test {
 protected:
  void SetUp() override {
    detail::DeviceFacts facts;
    detail::opencl_driver().describe(nullptr, nullptr, &facts);
    if (!facts.is_usable) GTEST_SKIP() << facts.text;
    call.size = sizeof(call);
    call.q = q.tensor;
    call.k = k.tensor;
    call.v = v.tensor;
    call.out = out.tensor;
    exec.size = sizeof(exec);
    call.exec = &exec;
  }
  std::vector<float> on_cpu() {
    Tensor result(4, 70, 0);
    fovea_call there = call;
    there.out = result.tensor;
    there.exec = nullptr;
    EXPECT_EQ(fovea_device_kinds_causal(&there, nullptr), FOVEA_OK) << fovea_last_message();
    return result.numbers;
  }
  void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
  }

  Tensor q{4, 70, 0.1f}, k{2, 90, 0.2f}, v{2, 90, 0.3f}, out{4, 70, 0.4f};
  fovea_call call = {};
  fovea_exec exec = {};
};

TEST_F(OpenClCall, DeviceMemoryAndTheCallersQueue) {
  detail::DeviceCall device = {};
  device.driver = &detail::opencl_driver();
  ASSERT_EQ(device.driver->begin(&device, nullptr), FOVEA_OK) << fovea_last_message();
  const std::vector<float> wanted = on_cpu();
  std::vector<detail::DeviceMemory> memory;
  for (fovea_tensor* t : {&call.q, &call.k, &call.v, &call.out}) {
    const auto bytes = static_cast<size_t>(t->extent[1] * t->stride[1]) * 4;
    memory.push_back(0);
    ASSERT_EQ(device.driver->allocate(&device, bytes, &memory.back()), FOVEA_OK);
    ASSERT_EQ(device.driver->copy_in(&device, memory.back(), t->data, bytes), FOVEA_OK);
    t->data = reinterpret_cast<void*>(memory.back());
  }
  exec.device = FOVEA_DEVICE_OPENCL;
  EXPECT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("exec.stream is NULL"));
  exec.stream = device.stream;
  ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(device.driver->copy_out(&device, out.numbers.data(), memory[3], out.numbers.size() * 4),
            FOVEA_OK);
  expect_near(out.numbers, wanted);
  fovea_call same = call;
  same.out = call.v;
  same.out.extent[1] = 4;
  same.out.extent[2] = 70;
  same.out.stride[1] = 70 * 64;
  EXPECT_EQ(fovea_device_kinds_causal(&same, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("is v.data as well"));
  for (const detail::DeviceMemory m : memory) device.driver->release(&device, m);
  device.driver->end(&device);
}

// Three rows of four heads on two KV heads: a tile of six rows and a part of one, three chunks.
class OpenClDecode : public OpenClCall {
 protected:
  void SetUp() override {
    OpenClCall::SetUp();
    call.q = few.tensor;
    call.k = keys.tensor;
    call.v = values.tensor;
    call.out = result.tensor;
  }
  std::vector<float> few_on_cpu() {
    Tensor there(4, 3, 0);
    fovea_call same = call;
    same.out = there.tensor;
    same.exec = nullptr;
    EXPECT_EQ(fovea_device_kinds_causal(&same, nullptr), FOVEA_OK) << fovea_last_message();
    return there.numbers;
  }
  std::string explanation() {
    std::string text(4096, '\0');
    fovea_device_kinds_causal_explain(&call, text.data(), text.size());
    return text.c_str();
  }

  Tensor few{4, 3, 0.1f}, keys{2, 600, 0.2f}, values{2, 600, 0.3f}, result{4, 3, 0.4f};
};

TEST_F(OpenClDecode, InTheCallersMemoryOfTheDevice) {
  const std::vector<float> wanted = few_on_cpu();
  detail::DeviceCall device = {};
  device.driver = &detail::opencl_driver();
  ASSERT_EQ(device.driver->begin(&device, nullptr), FOVEA_OK) << fovea_last_message();
  std::vector<detail::DeviceMemory> memory;
  const auto take = [&](size_t bytes) {
    memory.push_back(0);
    EXPECT_EQ(device.driver->allocate(&device, bytes, &memory.back()), FOVEA_OK);
    return reinterpret_cast<void*>(memory.back());
  };
  for (fovea_tensor* t : {&call.q, &call.k, &call.v, &call.out}) {
    const auto bytes = static_cast<size_t>(t->extent[1] * t->stride[1]) * 4;
    const void* from = t->data;
    t->data = take(bytes);
    ASSERT_EQ(device.driver->copy_in(&device, memory.back(), from, bytes), FOVEA_OK);
  }
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.stream = device.stream;
  call.workspace_size = fovea_device_kinds_causal_workspace(&call);
  EXPECT_GE(call.workspace_size, sizeof(float) * 2 * 3 * 8 * 66);
  call.workspace = take(call.workspace_size);
  const auto run = [&] {
    EXPECT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
    std::vector<float> got(result.numbers.size());
    EXPECT_EQ(device.driver->copy_out(&device, got.data(), memory[3], got.size() * 4), FOVEA_OK);
    return got;
  };
  EXPECT_THAT(explanation(), HasSubstr("chosen: fovea_decode__causal__f32__d64__opencl"));
  const std::vector<float> decoded = run();
  expect_near(decoded, wanted);
  EXPECT_EQ(run(), decoded);
  call.workspace = nullptr;
  EXPECT_THAT(explanation(), HasSubstr("chosen: fovea_prefill__causal__f32__d64__opencl"));
  expect_near(run(), wanted);
  for (const detail::DeviceMemory m : memory) device.driver->release(&device, m);
  device.driver->end(&device);
}

// The bits of a sequence do not depend on what else the call holds.
TEST_F(OpenClDecode, ASequenceGetsTheSameBitsAloneAndInABatch) {
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  const std::vector<float> alone = result.numbers;
  std::vector<float> both(2 * alone.size());
  const int32_t kv_len[] = {600, 600};
  for (fovea_tensor* t : {&call.q, &call.k, &call.v, &call.out}) t->extent[0] = 2;
  for (fovea_tensor* t : {&call.q, &call.k, &call.v}) t->stride[0] = 0;
  call.out.data = both.data();
  call.kv_len = kv_len;
  ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  for (size_t i = 0; i < both.size(); ++i) ASSERT_EQ(both[i], alone[i % alone.size()]) << i;
}

// One call, both passes: sequences of 1, 40 and 16 rows.
TEST_F(OpenClDecode, PassesShareARaggedBatch) {
  Tensor rows(4, 57, 0.5f), there(4, 57, 0), here(4, 57, 0);
  const int32_t cu_q[] = {0, 1, 41, 57}, cu_k[] = {0, 300, 350, 600};
  fovea_ragged ragged = {sizeof(fovea_ragged), 3, cu_q, cu_k};
  call.q = rows.tensor;
  call.ragged = &ragged;
  for (const bool on_device : {false, true}) {
    exec.device = on_device ? FOVEA_DEVICE_OPENCL : FOVEA_DEVICE_CPU;
    exec.host_tensors = on_device ? 1 : 0;
    call.out = (on_device ? here : there).tensor;
    EXPECT_THAT(explanation(), HasSubstr("pass prefill: 1 of 3 sequences"));
    EXPECT_THAT(explanation(), HasSubstr("pass decode: 2 of 3 sequences, at most 16 query rows"));
    ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  }
  expect_near(here.numbers, there.numbers);
}

TEST_F(OpenClCall, HostTensorsNeedToBeAskedFor) {
  exec.target = "opencl";
  EXPECT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("or exec.host_tensors = 1, which copies"));
}

TEST_F(OpenClCall, OutsideOfTheOutputNothingIsWritten) {
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  Tensor wide(4, 140, 0.5f);
  const std::vector<float> before = wide.numbers;
  call.out = wide.tensor;
  call.out.extent[2] = 70;
  call.out.stride[2] = 128;  // every other row
  const int32_t q_len = 50;
  call.q_len = &q_len;
  ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  for (size_t i = 0; i < wide.numbers.size(); ++i) {
    const size_t row = i / 64 % 140;
    if (row % 2 != 0 || row >= 100) {
      ASSERT_EQ(wide.numbers[i], before[i]) << i;
    } else {
      ASSERT_NE(wide.numbers[i], before[i]) << i;
    }
  }
}

TEST_F(OpenClCall, Bank133ThreadsWithDifferentShapes) {
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  const auto result_of = [&](int64_t rows) {
    Tensor result(4, 70, 0.6f);
    fovea_call own = call;
    own.out = result.tensor;
    own.q.extent[2] = own.out.extent[2] = rows;
    EXPECT_EQ(fovea_device_kinds_causal(&own, nullptr), FOVEA_OK) << fovea_last_message();
    return result.numbers;
  };
  std::vector<std::vector<float>> together(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i)
    threads.emplace_back([&, i] { together[i] = result_of(20 + 5 * static_cast<int64_t>(i)); });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(together[i], result_of(20 + 5 * static_cast<int64_t>(i))) << i;
}

TEST_F(OpenClCall, Bank205OneOutputForCpuAndDeviceInTurn) {
  const std::vector<float> wanted = on_cpu();
  for (const fovea_device device :
       {FOVEA_DEVICE_CPU, FOVEA_DEVICE_OPENCL, FOVEA_DEVICE_CPU, FOVEA_DEVICE_OPENCL}) {
    exec.device = device;
    exec.host_tensors = device != FOVEA_DEVICE_CPU ? 1 : 0;
    std::fill(out.numbers.begin(), out.numbers.end(), NAN);
    ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
    expect_near(out.numbers, wanted);
  }
}

// "T name": what the kernels of a library define for the linker.
std::vector<std::string> symbols_of(const std::string& object) {
  std::vector<std::string> symbols;
  FILE* pipe =
      popen((std::string(FOVEA_TEST_NM) + " -g --defined-only '" + object + "'").c_str(), "r");
  char line[400];
  while (pipe != nullptr && fgets(line, sizeof(line), pipe) != nullptr) {
    const std::string text(line);
    if (const size_t at = text.find(' '); at != std::string::npos)
      symbols.push_back(text.substr(at + 1, text.size() - at - 2));
  }
  return pipe != nullptr && pclose(pipe) == 0 ? symbols : std::vector<std::string>();
}

TEST(DeviceLibraries, Bank202NamesCarryThePrefixOfTheirLibrary) {
  for (const auto& [object, prefix] : {std::pair{FOVEA_TEST_KINDS_KERNELS, "fovea_device_kinds__"},
                                       {FOVEA_TEST_HALF_KERNELS, "fovea_device_half__"}}) {
    const std::vector<std::string> symbols = symbols_of(object);
    EXPECT_GE(symbols.size(), 6u) << object;
    for (const std::string& symbol : symbols) {
      // Weak: any library's will do for all.
      if (symbol == "W fovea_halide_do_par_for") continue;
      EXPECT_THAT(symbol.substr(2), testing::StartsWith(prefix));
    }
  }
}

TEST_F(OpenClCall, Bank202TwoLibrariesOfDeviceKernelsInOneProgram) {
  const auto half = [](Tensor& t) {
    for (float& n : t.numbers) n = n < 0 ? -0.5f : 0.5f;
    std::vector<uint16_t> bits(t.numbers.size());
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = t.numbers[i] < 0 ? 0xb800 : 0x3800;
    return bits;
  };
  std::vector<uint16_t> bits[] = {half(q), half(k), half(v), half(out)};
  fovea_call halves = call;
  fovea_tensor* tensors[] = {&halves.q, &halves.k, &halves.v, &halves.out};
  for (size_t i = 0; i < 4; ++i) {
    tensors[i]->data = bits[i].data();
    tensors[i]->dtype = FOVEA_F16;
  }
  const std::vector<float> wanted = on_cpu();
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
    ASSERT_EQ(fovea_device_half_causal(&halves, nullptr), FOVEA_OK) << fovea_last_message();
    expect_near(out.numbers, wanted);
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(load_element(&bits[3][i], FOVEA_F16), wanted[i], 1e-3) << i;
  }
}

TEST_F(OpenClCall, Bank23OneConventionOnEveryTarget) {
  // One query, eight keys, all scores equal: the mean of V, as on the CPU.
  Tensor one_q(1, 1, 0), eight_k(1, 8, 0.2f), eight_v(1, 8, 0), result(1, 1, 0);
  std::fill(one_q.numbers.begin(), one_q.numbers.end(), 0.0f);
  for (size_t i = 0; i < eight_v.numbers.size(); ++i)
    eight_v.numbers[i] = static_cast<float>(i / 64 + 1);
  call.q = one_q.tensor;
  call.k = eight_k.tensor;
  call.v = eight_v.tensor;
  call.out = result.tensor;
  for (const fovea_device device : {FOVEA_DEVICE_CPU, FOVEA_DEVICE_OPENCL}) {
    exec.device = device;
    exec.host_tensors = device != FOVEA_DEVICE_CPU ? 1 : 0;
    ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(result.numbers[0], 4.5f);
  }
}

TEST_F(OpenClCall, Bank211MoreSequencesThanAGridHas) {
  constexpr int64_t batch = 65537;
  std::vector<float> rows(batch * 64, 0.5f), result(batch * 64, NAN);
  const auto all = [&](std::vector<float>& numbers) {
    return fovea_tensor{numbers.data(), FOVEA_F32, {batch, 1, 1, 64}, {64, 64, 64, 1}};
  };
  call.q = call.k = call.v = all(rows);
  call.out = all(result);
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  ASSERT_EQ(fovea_device_kinds_causal(&call, nullptr), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(result, rows);
}

}  // namespace
}  // namespace fovea::test
