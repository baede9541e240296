// cuda_call_test.cpp: what calls for a CUDA device do with the driver: a fake one, so that order,
// arguments and errors are seen on machines without a GPU. Each test has a process of its own,
// because a driver is loaded once. SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fovea/registry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fovea/fovea.hpp>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fovea_device_cache.h"
#include "fovea_device_kinds.h"
#include "tests/devices/fake_cuda.h"

namespace fovea::test {
namespace {

using testing::HasSubstr;

class CudaCall : public testing::Test {
 protected:
  void use_driver(const char* file = FOVEA_FAKE_CUDA) {
    setenv("FOVEA_CUDA_DRIVER", file, 1);
    if (file != std::string(FOVEA_FAKE_CUDA)) return;
    void* library = dlopen(file, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    using State = FakeCuda* (*)();
    fake = reinterpret_cast<State>(dlsym(library, "fake_cuda_state"))();
    make_current = reinterpret_cast<void (*)(int)>(dlsym(library, "fake_cuda_make_current"));
    allocate = reinterpret_cast<int (*)(uint64_t*, size_t)>(dlsym(library, "cuMemAlloc_v2"));
  }

  // Memory of the device for a call of these shapes.
  void place_on_device(int64_t batch, int64_t heads, int64_t rows, int64_t keys) {
    make_current(1);
    const auto memory = [&](int64_t sequences, int64_t length) {
      uint64_t address = 0;
      EXPECT_EQ(allocate(&address, static_cast<size_t>(sequences * heads * length * 64) * 4), 0);
      return reinterpret_cast<void*>(address);
    };
    describe(memory(batch, rows), memory(batch, keys), memory(batch, keys), memory(batch, rows),
             batch, heads, rows, keys);
    fake->allocations = fake->live_allocations = 0;
  }
  void describe(void* q, void* k, void* v, void* out, int64_t batch, int64_t heads, int64_t rows,
                int64_t keys) {
    const auto tensor = [&](void* data, int64_t length) {
      return fovea_tensor{
          data, FOVEA_F32, {batch, heads, length, 64}, {heads * length * 64, length * 64, 64, 1}};
    };
    call.size = sizeof(call);
    call.q = tensor(q, rows);
    call.k = tensor(k, keys);
    call.v = tensor(v, keys);
    call.out = tensor(out, rows);
    exec.size = sizeof(exec);
    exec.device = FOVEA_DEVICE_CUDA;
    call.exec = &exec;
  }
  void place_on_host() {
    host.resize(4 * 64 * 8, 1.0f);
    float* data = host.data();
    describe(data, data + 512, data + 1024, data + 1536, 1, 1, 8, 8);
  }
  std::string explanation() {
    std::string text(4096, '\0');
    fovea_device_kinds_full_explain(&call, text.data(), text.size());
    return text.c_str();
  }
  fovea_status run() { return fovea_device_kinds_full(&call, nullptr); }

  FakeCuda* fake = nullptr;
  void (*make_current)(int) = nullptr;
  int (*allocate)(uint64_t*, size_t) = nullptr;
  std::vector<float> host;
  fovea_call call = {};
  fovea_exec exec = {};
};

TEST_F(CudaCall, WithoutADriverTheCpuComputesAndExplainSaysWhy) {
  use_driver("/nonexistent/libcuda.so");
  place_on_host();
  EXPECT_EQ(run(), FOVEA_UNSUPPORTED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("no driver: /nonexistent/libcuda.so"));
  EXPECT_THAT(explanation(),
              ::testing::ContainsRegex(
                  "refused, no driver[^\n]*:\n  fovea_prefill__full__f32__d64__cuda_sm80\n"));
  exec.device = FOVEA_DEVICE_CPU;
  EXPECT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(host[1536], 1.0f);
  EXPECT_THAT(explanation(), ::testing::ContainsRegex(
                                 "refused, computes on device cuda, exec.device is cpu; here: no "
                                 "driver[^\n]*:\n  fovea_decode__full__f32__d64__cuda_sm80\n"));
}

TEST_F(CudaCall, DriverWithoutADevice) {
  use_driver();
  fake->devices = 0;
  place_on_host();
  EXPECT_EQ(run(), FOVEA_UNSUPPORTED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("the driver has no device"));
}

TEST_F(CudaCall, DriverThatCannotStart) {
  use_driver();
  fake->init_result = 100;
  place_on_host();
  EXPECT_EQ(run(), FOVEA_UNSUPPORTED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cuInit: CUDA_ERROR_NO_DEVICE"));
}

TEST_F(CudaCall, OldDeviceIsRefused) {
  use_driver();
  fake->capability = 60;
  place_on_host();
  exec.host_tensors = 1;
  EXPECT_EQ(run(), FOVEA_UNSUPPORTED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("the device (Fake GPU, sm_60) lacks sm_70"));
}

TEST_F(CudaCall, PtxOfALevelServesLaterDevices) {
  use_driver();
  fake->capability = 120;
  place_on_host();
  exec.host_tensors = 1;
  EXPECT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_THAT(explanation(), HasSubstr("cuda_sm80 (cuda-sm80 is the usable target with the largest "
                                       "preference, 120; pass decode"));
}

TEST_F(CudaCall, OnlyQueuesItsWork) {
  use_driver();
  place_on_device(2, 3, 70, 100);
  int stream = 0;
  exec.stream = &stream;
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 1);
  const FakeLaunch& launch = fake->launch[0];
  EXPECT_EQ(launch.stream, &stream);
  EXPECT_EQ(launch.blocks[0], 3u);  // 70 rows of 32
  EXPECT_EQ(launch.blocks[1], 3u);
  EXPECT_EQ(launch.blocks[2], 2u);
  EXPECT_EQ(launch.threads[0] * launch.threads[1] * launch.threads[2], 64u);
  // One page for each context, at its first call.
  EXPECT_EQ(fake->allocations, 1);
  EXPECT_EQ(fake->copies, 1);
  EXPECT_EQ(fake->waits, 1);
  EXPECT_EQ(fake->modules, 1);
  ASSERT_EQ(run(), FOVEA_OK);
  EXPECT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->allocations, 1);
  EXPECT_EQ(fake->copies, 1);
  EXPECT_EQ(fake->waits, 1);
  EXPECT_EQ(fake->modules, 1);
  EXPECT_EQ(fake->pushed, 0);  // the thread had a context
}

// What a kernel is told of rows.
int32_t told_wide_reads = -1;
template <int argument>
int remember_wide_reads(void** argv) {
  std::memcpy(&told_wide_reads, argv[argument], sizeof(told_wide_reads));
  return 0;
}

TEST_F(CudaCall, KernelsAreToldWhetherAllRowsAreAligned) {
  use_driver();
  place_on_device(1, 2, 8, 32);
  // The library, with kernels that remember.
  fovea_library_info library = *fovea_device_kinds_library();
  std::vector<fovea_kernel_info> kernels(library.kernels, library.kernels + library.kernel_count);
  const fovea_decode_part part = {8, remember_wide_reads<17>};
  std::vector<fovea_decode_info> decode;
  decode.reserve(kernels.size());
  for (fovea_kernel_info& kernel : kernels) {
    if (kernel.run != nullptr) kernel.run = remember_wide_reads<16>;
    if (kernel.decode == nullptr) continue;
    decode.push_back(*kernel.decode);
    decode.back().part_count = 1;
    decode.back().parts = &part;
    kernel.decode = &decode.back();
  }
  library.kernels = kernels.data();
  const auto told = [&] {
    told_wide_reads = -1;
    EXPECT_EQ(fovea_variant_run(&library, kernels[0].variant, &call, nullptr), FOVEA_OK)
        << fovea_last_message();
    return told_wide_reads;
  };
  for (const char* pass : {"prefill", "decode"}) {
    exec.pass = pass;
    if (pass == std::string("decode")) {
      call.workspace_size = fovea_variant_workspace(&library, kernels[0].variant, &call);
      uint64_t address = 0;
      ASSERT_EQ(allocate(&address, call.workspace_size), 0);
      call.workspace = reinterpret_cast<void*>(address);
    }
    EXPECT_EQ(told(), 1) << pass;
    const auto change_back = [&, before = call] { call = before; };
    call.k.data = static_cast<float*>(call.k.data) + 4;
    EXPECT_EQ(told(), 1) << pass << ": 16 bytes on";
    call.k.data = static_cast<float*>(call.k.data) + 1;
    EXPECT_EQ(told(), 0) << pass << ": keys 4 bytes on";
    change_back();
    for (fovea_tensor* tensor : {&call.q, &call.k, &call.v}) {
      tensor->extent[2] -= 1;
      tensor->extent[1] = 1;
    }
    call.out.extent[1] = 1;
    call.out.extent[2] -= 1;
    for (fovea_tensor* tensor : {&call.q, &call.v}) {
      tensor->stride[2] = 66;
      EXPECT_EQ(told(), 0) << pass << ": rows of 66";
      tensor->stride[2] = 68;
      EXPECT_EQ(told(), 1) << pass << ": rows of 68";
      tensor->stride[1] = 4097;
      EXPECT_EQ(told(), 1) << pass << ": the distance of heads, of which there is one";
    }
    change_back();
    call.v.stride[1] += 2;
    call.v.extent[2] = call.k.extent[2] = 16;
    EXPECT_EQ(told(), 0) << pass << ": heads of values";
    change_back();
  }
}

TEST_F(CudaCall, SequencesOfOneShapeShareALaunch) {
  use_driver();
  place_on_device(5, 1, 40, 64);
  const int32_t kv_len[] = {64, 64, 10, 64, 64};
  const int32_t q_len[] = {40, 40, 40, 0, 40};
  call.kv_len = kv_len;
  call.q_len = q_len;
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 3);
  EXPECT_EQ(fake->launch[0].blocks[2], 2u);
  EXPECT_EQ(fake->launch[1].blocks[2], 1u);
  EXPECT_EQ(fake->launch[2].blocks[2], 1u);
}

TEST_F(CudaCall, HostTensorsAreRefused) {
  use_driver();
  place_on_host();
  EXPECT_EQ(run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("q.data = "));
  EXPECT_THAT(fovea_last_message(), HasSubstr("memory of the host; allowed: memory of the CUDA "
                                              "device, or exec.host_tensors = 1"));
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(CudaCall, ATargetAloneDoesNotMakeHostTensorsDeviceTensors) {
  use_driver();
  place_on_host();
  exec.device = FOVEA_DEVICE_CPU;
  exec.target = "cuda-sm80";
  EXPECT_EQ(run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(),
              HasSubstr("exec.target = \"cuda-sm80\" computes on device cuda"));
  exec.host_tensors = 1;
  EXPECT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(fake->launches, 2);  // of decode
}

TEST_F(CudaCall, CopiesAreMadeAndWaitedForWhenAskedFor) {
  use_driver();
  place_on_host();
  exec.host_tensors = 1;
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(fake->copies, 1 + 4 + 1);  // the page; q, k, v, out; out back
  EXPECT_EQ(fake->waits, 1 + 1);
  EXPECT_EQ(fake->live_allocations, 1);  // the page
  EXPECT_EQ(fake->pushed, fake->popped);
}

TEST_F(CudaCall, NoMemoryIsNoLeak) {
  use_driver();
  place_on_host();
  exec.host_tensors = 1;
  fake->allocations_left = 3;
  EXPECT_EQ(run(), FOVEA_OUT_OF_MEMORY);
  EXPECT_THAT(fovea_last_message(),
              HasSubstr("cuMemAlloc of 2048 bytes: CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(fake->live_allocations, 1);
  EXPECT_EQ(fake->pushed, fake->popped);
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(CudaCall, ProgramThatDoesNotLoad) {
  use_driver();
  place_on_device(1, 1, 20, 20);
  fake->load_result = 218;
  EXPECT_EQ(run(), FOVEA_KERNEL_FAILED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cuModuleLoadData"));
  fake->load_result = 0;
  EXPECT_EQ(run(), FOVEA_OK);
}

TEST_F(CudaCall, Bank133ThreadsShareAKernel) {
  use_driver();
  place_on_device(1, 2, 64, 64);
  std::vector<std::thread> threads;
  std::vector<fovea_status> statuses(8, FOVEA_OUT_OF_MEMORY);
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      fovea_call own = call;
      own.q.extent[2] = own.out.extent[2] = 20 + static_cast<int64_t>(i);
      statuses[i] = fovea_device_kinds_full(&own, nullptr);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const fovea_status status : statuses) EXPECT_EQ(status, FOVEA_OK);
  EXPECT_EQ(fake->launches, 8);
  EXPECT_EQ(fake->modules, 1);
}

TEST_F(CudaCall, Bank206AFreshThreadHasNoContext) {
  use_driver();
  place_on_device(1, 1, 20, 20);
  ASSERT_EQ(run(), FOVEA_OK);
  std::thread([&] { EXPECT_EQ(run(), FOVEA_OK) << fovea_last_message(); }).join();
  EXPECT_EQ(fake->retained, 1);
  EXPECT_EQ(fake->pushed, 1);
  EXPECT_EQ(fake->popped, 1);
  ASSERT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->launch[0].context, fake->launch[1].context);
}

TEST_F(CudaCall, Bank211ALaunchThatFailsIsReported) {
  use_driver();
  place_on_device(1, 1, 20, 20);
  fake->launch_result = fake_launch_failure;
  EXPECT_EQ(run(), FOVEA_KERNEL_FAILED);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cuLaunchKernel of"));
  EXPECT_THAT(fovea_last_message(), HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"));
}

TEST_F(CudaCall, Bank211MoreSequencesThanAGridHas) {
  use_driver();
  place_on_device(65540, 1, 1, 1);
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->launch[0].blocks[2] + fake->launch[1].blocks[2], 65540u);
}

TEST_F(CudaCall, Bank212HeadsTimesRows) {
  use_driver();
  place_on_device(1, 32, 2048, 1);
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 1);
  EXPECT_EQ(fake->launch[0].blocks[0], 64u);
  EXPECT_EQ(fake->launch[0].blocks[1], 32u);
}

TEST_F(CudaCall, MoreHeadsThanAGridHas) {
  use_driver();
  place_on_device(1, 65537, 1, 1);
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->launch[0].blocks[1], 65535u);
  EXPECT_EQ(fake->launch[1].blocks[1], 2u);
}

// Two sequences of four rows, six query heads on two KV heads, 1000 keys: of a KV head two tiles of
// eight rows and four chunks of 256 keys.
class CudaDecode : public CudaCall {
 protected:
  void SetUp() override {
    use_driver();
    place_on_device(2, 6, 4, 1000);
    for (fovea_tensor* t : {&call.k, &call.v}) t->extent[1] = 2;
  }
  void give_workspace(size_t bytes) {
    uint64_t address = 0;
    ASSERT_EQ(allocate(&address, bytes), 0);
    call.workspace = reinterpret_cast<void*>(address);
    call.workspace_size = bytes;
    fake->allocations = fake->live_allocations = 0;
  }
  size_t needed() { return fovea_device_kinds_full_workspace(&call); }

  static constexpr size_t records = sizeof(float) * 2 * 2 * (2 * 4) * (8 * 66);
};

TEST_F(CudaDecode, TakesTwoLaunchesAndTheCallersWorkspace) {
  ASSERT_GE(needed(), records);
  EXPECT_LT(needed(), records + 64);
  give_workspace(needed());
  int stream = 0;
  exec.stream = &stream;
  EXPECT_THAT(explanation(),
              testing::ContainsRegex("chosen: fovea_decode__full__f32__d64__cuda_sm80 "
                                     ".*pass decode: at most 16 query rows; on Fake "
                                     "GPU, sm_80, workspace [0-9]+ bytes"));
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 2);
  const unsigned part[] = {2 * 4, 2, 2}, finish[] = {4, 6, 2};
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(fake->launch[0].blocks[axis], part[axis]) << axis;
    EXPECT_EQ(fake->launch[1].blocks[axis], finish[axis]) << axis;
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fake->launch[i].stream, &stream);
  EXPECT_EQ(fake->allocations, 1);  // the page
  EXPECT_EQ(fake->waits, 1);        // for the page's zeros
  EXPECT_EQ(fake->modules, 2);
  ASSERT_EQ(run(), FOVEA_OK);
  EXPECT_EQ(fake->launches, 4);
  EXPECT_EQ(fake->allocations, 1);
  EXPECT_EQ(fake->modules, 2);
}

TEST_F(CudaDecode, WithoutAWorkspaceItIsPrefillAndExplainSaysSo) {
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 1);
  EXPECT_EQ(fake->launch[0].blocks[1], 6u);
  EXPECT_THAT(explanation(),
              HasSubstr("pass prefill: decode needs a workspace in memory of the device, workspace "
                        "is NULL"));
  EXPECT_GE(needed(), records);  // what decode would need
}

TEST_F(CudaDecode, ForcedWithoutAWorkspaceIsRefused) {
  exec.pass = "decode";
  EXPECT_EQ(run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(
      fovea_last_message(),
      HasSubstr("workspace is NULL: pass decode, which exec.pass forces, needs memory of the "
                "device there, as much as full_workspace says"));
  EXPECT_EQ(fake->launches, 0);
  EXPECT_GE(needed(), records);
}

TEST_F(CudaDecode, AWorkspaceThatIsTooSmallIsRefused) {
  give_workspace(needed() - 1);
  EXPECT_EQ(run(), FOVEA_WORKSPACE_TOO_SMALL);
  EXPECT_THAT(fovea_last_message(), HasSubstr("this call needs at least"));
  EXPECT_EQ(fake->launches, 0);
  exec.pass = "prefill";  // needs none
  EXPECT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(needed(), 0u);
}

TEST_F(CudaDecode, AWorkspaceOfTheHostIsRefused) {
  std::vector<char> memory(needed());
  call.workspace = memory.data();
  call.workspace_size = memory.size();
  EXPECT_EQ(run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("workspace = "));
  EXPECT_THAT(fovea_last_message(), HasSubstr("memory of the host"));
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(CudaDecode, TheSizeIsOfShapesAndTheGridOfLengths) {
  const size_t whole = needed();
  const int32_t kv_len[] = {257, 0};
  call.kv_len = kv_len;
  EXPECT_EQ(needed(), whole);
  give_workspace(whole);
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  // Two chunks and their finish; no keys at all leave rows to be written.
  ASSERT_EQ(fake->launches, 3);
  EXPECT_EQ(fake->launch[0].blocks[0], 2u * 2u);
  EXPECT_EQ(fake->launch[0].blocks[2], 1u);
  EXPECT_EQ(fake->launch[2].blocks[0], 4u);
}

TEST_F(CudaDecode, ManyRowsAreForPrefill) {
  call.q.extent[2] = call.out.extent[2] = 17;
  for (fovea_tensor* t : {&call.q, &call.out}) t->stride[2] = 0;
  EXPECT_EQ(needed(), 0u);
}

TEST_F(CudaDecode, RecordsThatDoNotFitAreRefused) {
  call.k.extent[2] = call.v.extent[2] = 1 << 29;
  for (fovea_tensor* t : {&call.k, &call.v}) t->stride[2] = 0;
  EXPECT_EQ(needed(), 0u);
  EXPECT_THAT(fovea_last_message(), HasSubstr("which do not fit; exec.pass = \"prefill\" needs "
                                              "none"));
}

TEST_F(CudaDecode, CopiesTakeTheRecordsWithTheTensors) {
  make_current(0);
  std::vector<float> memory(static_cast<size_t>(2 * 6 * 1000 * 64), 1.0f);
  for (fovea_tensor* t : {&call.q, &call.k, &call.v, &call.out}) t->data = memory.data();
  std::vector<float> result(static_cast<size_t>(2 * 6 * 4 * 64));
  call.out.data = result.data();
  exec.host_tensors = 1;
  EXPECT_EQ(needed(), 0u);
  ASSERT_EQ(run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->allocations, 1 + 4 + 1);  // the page, the tensors, the records
  EXPECT_EQ(fake->copies, 1 + 4 + 1);       // the page; q, k, v, out; out back
  EXPECT_EQ(fake->live_allocations, 1);
}

// A call of two sequences of one row over pages of 8 slots, which fit five of them each.
class CudaCache : public CudaCall {
 protected:
  void SetUp() override {
    use_driver();
    place_on_device(2, 1, 1, 1);
    const auto pool = [&] {
      uint64_t address = 0;
      EXPECT_EQ(allocate(&address, 12 * 8 * 64 * 4), 0);
      return fovea_tensor{
          reinterpret_cast<void*>(address), FOVEA_F32, {12, 1, 8, 64}, {512, 512, 64, 1}};
    };
    call.k = pool();
    call.v = pool();
    uint64_t table = 0;
    ASSERT_EQ(allocate(&table, sizeof(entries)), 0);
    cache.size = sizeof(cache);
    cache.block_table = reinterpret_cast<const int32_t*>(table);
    cache.block_table_columns = cache.block_table_stride = 5;
    call.cache = &cache;
    call.kv_len = kv_len;
    fake->allocations = fake->live_allocations = 0;
  }
  fovea_status run_cached() { return fovea_device_cache_causal(&call, nullptr); }

  fovea_cache cache = {};
  int32_t kv_len[2] = {37, 21};
  const int32_t entries[10] = {3, 0, 7, 11, 5, 12, -1, 100, 9, 4};
};

TEST_F(CudaCache, BlockTablesAreMemoryOfTheDeviceWhoseNumbersAreNotLookedAt) {
  ASSERT_EQ(run_cached(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(fake->launches, 2);  // lengths differ
  EXPECT_EQ(fake->copies, 1);    // of the page
  cache.block_table = entries;
  EXPECT_EQ(run_cached(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cache.block_table = "));
  EXPECT_THAT(fovea_last_message(), HasSubstr("memory of the host"));
}

TEST_F(CudaCache, BlockTablesOfTheHostAreLookedAt) {
  exec.host_tensors = 1;
  cache.block_table = entries;
  EXPECT_EQ(run_cached(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cache.block_table[1][0] = 12: allowed: 0 to 11"));
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(CudaCache, APoolWithoutPagesHoldsNoKeys) {
  call.k.extent[0] = call.v.extent[0] = 0;
  EXPECT_EQ(run_cached(), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("k.extent[0] = 0 pages: allowed: 1 or more"));
  kv_len[0] = kv_len[1] = 0;
  EXPECT_EQ(run_cached(), FOVEA_OK) << fovea_last_message();
}

// What a ring has given up is neither launched nor given records.
TEST_F(CudaCache, DecodeOfALongRingIsAsLargeAsTheRing) {
  cache.ring_sinks = 4;
  cache.ring_window = 32;
  kv_len[0] = kv_len[1] = 1000000000;
  call.workspace_size = fovea_device_cache_causal_workspace(&call);
  EXPECT_GT(call.workspace_size, 0u);
  EXPECT_LT(call.workspace_size, 40000u);
  uint64_t memory = 0;
  ASSERT_EQ(allocate(&memory, call.workspace_size), 0);
  call.workspace = reinterpret_cast<void*>(memory);
  ASSERT_EQ(run_cached(), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 2);  // chunks, then rows
  EXPECT_GE(fake->launch[0].blocks[0], 2u);
  EXPECT_LE(fake->launch[0].blocks[0], 3u);
}

TEST_F(CudaCache, TokensAreAppendedInALaunchForKeysAndOneForValues) {
  fovea_append append = {};
  append.size = sizeof(append);
  append.k_new = append.v_new = call.q;
  append.k = call.k;
  append.v = call.v;
  append.kv_len = kv_len;
  append.cache = &cache;
  append.exec = &exec;
  kv_len[1] = kv_len[0];
  ASSERT_EQ(fovea_device_cache_causal_append(&append, nullptr), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->launch[0].blocks[2], 2u);
  EXPECT_EQ(fake->waits, 1);  // for the page
  cache.block_table = entries;
  EXPECT_EQ(fovea_device_cache_causal_append(&append, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_THAT(fovea_last_message(), HasSubstr("cache.block_table = "));
}

}  // namespace
}  // namespace fovea::test
