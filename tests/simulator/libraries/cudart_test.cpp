// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "tests/simulator/libraries/fixture/device_test.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

using Cudart = DeviceTest;
using Bytes = std::vector<char>;

// A failed device stays failed, so such a case runs in a process of its own, which exits with 0 if `body` passes.
template <class Body>
void elsewhere(Body&& body) {
  EXPECT_EXIT(
      {
        body();
        _exit(testing::Test::HasFailure());
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Cudart, DescribesADeviceThatSaysWhatItIs) {
  int count = 0, value = 0;
  ok(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  cudaDeviceProp p;
  ok(cudaGetDeviceProperties(&p, 0));
  EXPECT_THAT(p.name, HasSubstr("simulated"));
  EXPECT_EQ(p.major, 9);
  ok(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT_EQ(value, 232448);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Cudart, NamesItsErrors) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST_F(Cudart, CopiesOfPageableMemoryAreReadBeforeAndArriveBeforeTheCallReturns) {
  const cudaStream_t stream = new_stream();
  Bytes host = {1, 2, 3};
  OnDevice<char> device(3);
  ok(cudaMemcpyAsync(device.p, host.data(), 3, cudaMemcpyHostToDevice, stream));
  host = {9, 9, 9};
  ok(cudaMemcpyAsync(host.data(), device.p, 3, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(host, (Bytes{1, 2, 3}));
}

TEST_F(Cudart, CopiesThatSayOtherThanTheAddressesAreRefused) {
  Bytes host(3);
  OnDevice<char> device(3);
  EXPECT_EQ(cudaMemcpy(device.p, host.data(), 3, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data(), 3, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  ok(cudaMemcpy(device.p, host.data(), 3, cudaMemcpyDefault));
}

TEST_F(Cudart, CopiesRowsWithoutTouchingWhatLiesBetween) {
  OnDevice<char> device(12);
  const Bytes host = {1, 2, 3, 4, 5, 6};
  ok(cudaMemcpy2D(device.p, 4, host.data(), 2, 2, 3, cudaMemcpyHostToDevice));
  Bytes back(6);
  ok(cudaMemcpy2D(back.data(), 2, device.p, 4, 2, 3, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back, host);
  Bytes all(12);
  cudaMemcpy(all.data(), device.p, 12, cudaMemcpyDeviceToHost);
  EXPECT_THAT(reported(), HasSubstr("which nothing has written"));
}

TEST_F(Cudart, PinnedMemoryIsTheCopysUntilTheHostHasWaited) {
  const cudaStream_t stream = new_stream();
  Pinned host(8192);
  OnDevice<char> device(4096);
  host.p[0] = 1;
  ok(cudaMemsetAsync(device.p, 0, 4096, stream));
  ok(cudaMemcpyAsync(device.p, host.p, 4096, cudaMemcpyHostToDevice, stream));
  EXPECT_EQ(host.p[0], 1);  // reading is allowed
  host.p[4096] = 5;         // and so are bytes outside the copy
  host.p[10] = 7;
  EXPECT_THAT(reported(), HasSubstr("the host writes byte 10 of the pinned memory that cudaMemcpy of 4096 bytes"));
  ok(cudaStreamSynchronize(stream));
  host.p[11] = 7;
  ok(cudaMemcpyAsync(host.p, device.p, 4096, cudaMemcpyDeviceToHost, stream));
  const cudaEvent_t copied = new_event();
  ok(cudaEventRecord(copied, stream));
  const volatile char early = host.p[3];
  EXPECT_THAT(reported(), HasSubstr("the host reads byte 3")) << int{early};
  ok(cudaEventSynchronize(copied));
  EXPECT_EQ(host.p[0], 1);
}

TEST_F(Cudart, PollingGetsThereAndCountsAsWaiting) {
  const cudaStream_t stream = new_stream();
  Pinned host(64);
  OnDevice<char> device(Bytes(64, 3));
  ok(cudaMemcpyAsync(host.p, device.p, 64, cudaMemcpyDeviceToHost, stream));
  const cudaEvent_t copied = new_event();
  ok(cudaEventRecord(copied, stream));
  int polls = 0;
  while (cudaEventQuery(copied) == cudaErrorNotReady) ++polls;
  EXPECT_LT(polls, 1000);
  EXPECT_EQ(host.p[5], 3);
}

TEST_F(Cudart, AMissingEventIsARaceAndARecordedEventPreventsIt) {
  const cudaStream_t one = new_stream(), two = new_stream();
  OnDevice<char> a(64), b(64);
  for (const bool with_event : {true, false}) {
    ok(cudaMemsetAsync(a.p, 1, 64, one));
    if (with_event) {
      const cudaEvent_t written = new_event();
      ok(cudaEventRecord(written, one));
      ok(cudaStreamWaitEvent(two, written, 0));
      ok(cudaEventDestroy(written));
    }
    ok(cudaMemcpyAsync(b.p, a.p, 64, cudaMemcpyDeviceToDevice, two));
    ok(cudaDeviceSynchronize());
    const std::string found = reported();
    if (with_event)
      EXPECT_EQ(found, "");
    else
      EXPECT_THAT(found, testing::AllOf(HasSubstr("race"), HasSubstr("cudaMemset of 64 bytes"),
                                        HasSubstr("cudaMemcpy of 64 bytes")));
  }
}

TEST_F(Cudart, BlockingStreamsAreOrderedByTheDefaultStream) {
  cudaStream_t blocking = nullptr;
  ok(cudaStreamCreate(&blocking));
  OnDevice<char> a(64), b(64);
  ok(cudaMemsetAsync(a.p, 1, 64, blocking));
  ok(cudaMemcpyAsync(b.p, a.p, 64, cudaMemcpyDeviceToDevice, nullptr));
  ok(cudaMemsetAsync(b.p, 2, 64, blocking));
  ok(cudaDeviceSynchronize());
}

TEST_F(Cudart, StreamOrderedMemoryIsThereFromItsAllocationToItsFree) {
  const cudaStream_t one = new_stream();
  void* p = nullptr;
  ok(cudaMallocAsync(&p, 64, one));
  ok(cudaMemsetAsync(p, 1, 64, one));
  ok(cudaFreeAsync(p, one));
  ok(cudaDeviceSynchronize());
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(cudaFreeAsync(p, one), cudaErrorInvalidValue);
}

TEST_F(Cudart, StreamOrderedMemoryIsNotThereForAStreamThatDoesNotWaitForIt) {
  elsewhere([&] {
    const cudaStream_t one = new_stream(), two = new_stream();
    void* p = nullptr;
    ok(cudaMallocAsync(&p, 64, one));
    ok(cudaMemsetAsync(p, 1, 64, two));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_THAT(reported(), HasSubstr("is not known to be allocated yet (cudaMallocAsync of 64 bytes"));
  });
}

TEST_F(Cudart, AUseAfterAFreeInStreamOrderIsFoundAndTheDeviceHasFailedFromThenOn) {
  elsewhere([&] {
    const cudaStream_t stream = new_stream();
    void* p = nullptr;
    ok(cudaMallocAsync(&p, 64, stream));
    ok(cudaFreeAsync(p, stream));
    ok(cudaMemsetAsync(p, 1, 64, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    EXPECT_THAT(reported(), HasSubstr("use after free"));
    EXPECT_EQ(cudaMalloc(&p, 64), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  });
}

TEST_F(Cudart, AnAccessPastTheEndIsFound) {
  elsewhere([&] {
    OnDevice<char> a(64);
    EXPECT_EQ(cudaMemset(a.p, 1, 65), cudaErrorIllegalAddress);
    EXPECT_THAT(reported(), HasSubstr("out of bounds: cudaMemset of 65 bytes: bytes 0 to 65 of allocation"));
  });
}

TEST_F(Cudart, AHostAccessToDeviceMemoryEndsWithASentence) {
  OnDevice<int> a(64);
  EXPECT_EXIT(a.p[3] = 1, testing::ExitedWithCode(Reports::kExitStatus),
              "host access: the host dereferenced device memory: byte 12 of allocation");
}

TEST_F(Cudart, AHostAccessToPinnedMemoryThatIsFreedEndsWithASentence) {
  char* p = nullptr;
  ok(cudaMallocHost(reinterpret_cast<void**>(&p), 64));
  ok(cudaFreeHost(p));
  EXPECT_EXIT(p[3] = 1, testing::ExitedWithCode(Reports::kExitStatus), "or that is freed: byte 3 of allocation");
}

TEST_F(Cudart, FreesWaitAndAreRefusedForWhatIsNoAllocation) {
  const cudaStream_t stream = new_stream();
  void* p = nullptr;
  ok(cudaMalloc(&p, 64));
  ok(cudaMemsetAsync(p, 1, 64, stream));
  ok(cudaFree(p));
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  int local = 0;
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(&local), cudaErrorInvalidValue);
}

TEST_F(Cudart, MemoryIsCounted) {
  size_t before = 0, after = 0, total = 0;
  ok(cudaMemGetInfo(&before, &total));
  {
    OnDevice<char> a(1000);
    ok(cudaMemGetInfo(&after, &total));
    EXPECT_EQ(before - after, 1000u);
  }
  ok(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(p, nullptr);
}

TEST_F(Cudart, HostAndDevicePointersAreDistinguished) {
  const auto type_of = [](const void* p) {
    cudaPointerAttributes attributes;
    ok(cudaPointerGetAttributes(&attributes, p));
    return attributes.type;
  };
  OnDevice<char> device(8);
  Pinned pinned(8);
  void* managed = nullptr;
  ok(cudaMallocManaged(&managed, 8, cudaMemAttachGlobal));
  int local = 0;
  EXPECT_EQ(type_of(device.p + 7), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(device.p + 8), cudaMemoryTypeUnregistered);
  EXPECT_EQ(type_of(pinned.p), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type_of(&local), cudaMemoryTypeUnregistered);
  ok(cudaFree(managed));
}

TEST_F(Cudart, HostFunctionsRunInStreamOrderAndMaySeeWhatWasCopied) {
  const cudaStream_t stream = new_stream();
  Pinned host(64);
  OnDevice<char> device(Bytes(64, 3));
  ok(cudaMemcpyAsync(host.p, device.p, 64, cudaMemcpyDeviceToHost, stream));
  ok(cudaLaunchHostFunc(
      stream, [](void* p) { static_cast<char*>(p)[0] += 1; }, host.p));
  ok(cudaStreamSynchronize(stream));
  EXPECT_EQ(host.p[0], 4);
}

TEST_F(Cudart, TimeIsWhatWasPutInBetween) {
  const cudaStream_t stream = new_stream();
  cudaEvent_t first = nullptr, last = nullptr, untimed = new_event();
  ok(cudaEventCreate(&first));
  ok(cudaEventCreate(&last));
  OnDevice<char> device(8);
  float milliseconds = -1;
  ok(cudaEventRecord(first, stream));
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, last), cudaErrorInvalidResourceHandle);  // never recorded
  for (int k = 0; k < 3; ++k) ok(cudaMemsetAsync(device.p, k, 8, stream));
  ok(cudaEventRecord(last, stream));
  ok(cudaEventRecord(untimed, stream));
  ok(cudaStreamSynchronize(stream));
  ok(cudaEventElapsedTime(&milliseconds, first, last));
  EXPECT_FLOAT_EQ(milliseconds, 0.003f);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, untimed), cudaErrorInvalidResourceHandle);
}

class CudartGraph : public DeviceTest {
 protected:
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
};

// Two streams in a graph: what one waits for takes its time too.
TEST_F(CudartGraph, RecordsEventsForTheHostAtEachLaunch) {
  OnDevice<int> a(std::vector<int>{0}), b(std::vector<int>{1});
  const cudaStream_t beside = new_stream();
  const cudaEvent_t forked = new_event(), joined = new_event();
  cudaEvent_t first = nullptr, last = nullptr;
  ok(cudaEventCreate(&first)), ok(cudaEventCreate(&last));
  EXPECT_EQ(cudaEventRecordWithFlags(first, stream, cudaEventRecordExternal), cudaErrorInvalidValue);  // no capture
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(cudaEventRecord(forked, stream));
  ok(cudaStreamWaitEvent(beside, forked, cudaEventWaitDefault));
  for (int k = 0; k < 3; ++k) ok(cudaMemsetAsync(a.p, k, 4, beside));
  ok(cudaEventRecord(joined, beside));
  ok(cudaEventRecordWithFlags(first, stream, cudaEventRecordExternal));
  ok(cudaStreamWaitEvent(stream, joined, cudaEventWaitDefault));
  ok(cudaMemsetAsync(b.p, 1, 4, stream));
  ok(cudaEventRecordWithFlags(last, stream, cudaEventRecordExternal));
  ok(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t program = nullptr;
  ok(cudaGraphInstantiate(&program, graph, 0));
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, last), cudaErrorInvalidResourceHandle);  // no launch
  for (int launch = 0; launch < 2; ++launch) {
    ok(cudaGraphLaunch(program, stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaEventElapsedTime(&milliseconds, first, last));
    EXPECT_FLOAT_EQ(milliseconds, 0.004f);
  }
}

TEST_F(CudartGraph, ReplaysWhatWasCaptured) {
  OnDevice<int> a(std::vector<int>{0}), b(std::vector<int>{1});
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(cudaMemcpyAsync(a.p, b.p, 4, cudaMemcpyDeviceToDevice, stream));
  ok(cudaMemsetAsync(b.p, 2, 4, stream));
  ok(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t program = nullptr;
  ok(cudaGraphInstantiate(&program, graph, 0));
  ok(cudaGraphDestroy(graph));
  EXPECT_EQ(a.on_host()[0], 0);
  ok(cudaGraphLaunch(program, stream));
  ok(cudaStreamSynchronize(stream));
  EXPECT_EQ(a.on_host()[0], 1);
  ok(cudaGraphLaunch(program, stream));
  ok(cudaStreamSynchronize(stream));
  EXPECT_EQ(a.on_host()[0], 0x02020202);
  ok(cudaGraphExecDestroy(program));
}

TEST_F(CudartGraph, CallsThatWaitBreakTheCapture) {
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 8), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ok(cudaMalloc(&p, 8));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_F(CudartGraph, AnEventOfAnEndedCaptureCannotBeQueried) {
  cudaEvent_t event = nullptr;
  ok(cudaEventCreate(&event));
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(cudaEventRecord(event, stream));
  ok(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), event, 0), cudaErrorCapturedEvent);
  cudaGetLastError();
  ok(cudaGraphDestroy(graph));
}

// An A100 has 164 KB of shared memory a multiprocessor, an L40S 100 KB, of which a block gets all but one.
TEST(CudartSettings, LimitsAreThoseOfTheCapability) {
  for (const auto& [capability, shared, blocks] : {std::tuple("80", 163, 32), {"89", 99, 24}, {"90", 227, 32}}) {
    with_setting("WEFT_CUDA_DEVICE_CAPABILITY", capability, [shared, blocks] {
      int value = 0;
      EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
      EXPECT_EQ(value, shared << 10);
      EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlocksPerMultiprocessor, 0), cudaSuccess);
      EXPECT_EQ(value, blocks);
    });
  }
}

TEST(CudartSettings, TheNthAllocationFails) {
  with_setting("WEFT_CUDA_DEVICE_FAIL_ALLOCATION", "2", [] {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, 8), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&p, 8), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&p, 8), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  });
}
TEST(CudartSettings, MemoryIsAsLargeAsSaid) {
  with_setting("WEFT_CUDA_DEVICE_MEMORY", "1000", [] {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, 600), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&p, 600), cudaErrorMemoryAllocation);
  });
}
TEST(CudartSettings, ThereMayBeNoDevice) {
  with_setting("WEFT_CUDA_DEVICE_COUNT", "0", [] {
    int count = -1;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQ(count, 0);
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, 8), cudaErrorNoDevice);
  });
}
TEST(CudartSettings, ThereMayBeSeveralDevicesThatDoNotReachEachOthersMemory) {
  with_setting("WEFT_CUDA_DEVICE_COUNT", "2", [] {
    simulator().reports.set_policy(Reports::Policy::Collect);
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, 8), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaMemset(p, 0, 8), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cudaMemset(p, 0, 8), cudaSuccess);
  });
}
TEST(CudartSettings, UnreadReportsArePrintedAtTheEnd) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("WEFT_CUDA_DEVICE_REPORTS", "collect", 1);
        void* p = nullptr;
        cudaMalloc(&p, 8);
        cudaMemset(p, 0, 9);
        std::exit(0);
      },
      testing::ExitedWithCode(Reports::kExitStatus), "simulated CUDA device: out of bounds: cudaMemset of 9 bytes");
}
TEST(CudartSettings, UnknownSettingsAreRefusedByName) {
  expect_setting_is_refused("WEFT_CUDA_DEVICE_SEEDS", "2", "there is no setting WEFT_CUDA_DEVICE_SEEDS");
}
TEST(CudartSettings, ValuesThatAreNoNumbersAreRefused) {
  expect_setting_is_refused("WEFT_CUDA_DEVICE_SEED", "two", "WEFT_CUDA_DEVICE_SEED is 'two', not a whole number");
}
TEST(CudartSettings, ContractionIsAllOrDrawnByANumber) {
  expect_setting_is_refused("WEFT_CUDA_DEVICE_CONTRACTION", "some",
                            "WEFT_CUDA_DEVICE_CONTRACTION is 'some', not a whole number nor 'all'");
}

}  // namespace
}  // namespace weft::cuda_device
