// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, memory in stream order, pinned memory: once correctly, and once with each mistake. The line
// that a report must name is marked with the case.
#include "tests/simulator/programs/program.h"

namespace {

constexpr int kCount = 1000, kBlock = 128, kGrid = (kCount + kBlock - 1) / kBlock;

__constant__ float shift[2];
__device__ unsigned calls;

__global__ void fill(float* x, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) x[i] = value;  // HERE missing-event
}
__global__ void add(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) y[i] += x[i];  // HERE missing-event HERE use-after-free
}
__global__ void add_past_the_end(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += x[i];  // HERE past-the-end
}
__global__ void shifted(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) x[i] = x[i] * shift[0] + shift[1];
  if (i == 0) ++calls;
}
__global__ void __launch_bounds__(64) narrow(float* x) { x[threadIdx.x] = 1; }
__global__ void reversed(float* x) {
  extern __shared__ float all[];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

std::vector<float> filled(float value) { return std::vector<float>(kCount, value); }

// One stream writes what another reads.
void handed_over(bool with_event) {
  float *x = on_device(filled(0)), *y = on_device(filled(1));
  const cudaStream_t one = new_stream(), two = new_stream();
  fill<<<kGrid, kBlock, 0, one>>>(x, 5);
  if (with_event) {
    const cudaEvent_t event = new_event();
    check(cudaEventRecord(event, one));
    check(cudaStreamWaitEvent(two, event, 0));
  }
  add<<<kGrid, kBlock, 0, two>>>(x, y);
  check(cudaDeviceSynchronize());
  expect(on_host(y, kCount)[999] == 6, "the sum over two streams");
}

void in_stream_order(bool freed_too_early) {
  float* y = on_device(filled(1));
  const cudaStream_t stream = new_stream();
  float* x;
  check(cudaMallocAsync(&x, kCount * sizeof(float), stream));
  fill<<<kGrid, kBlock, 0, stream>>>(x, 5);
  if (freed_too_early) check(cudaFreeAsync(x, stream));
  add<<<kGrid, kBlock, 0, stream>>>(x, y);
  if (!freed_too_early) check(cudaFreeAsync(x, stream));
  check(cudaStreamSynchronize(stream));
  expect(on_host(y, kCount)[7] == 6, "the sum of memory in stream order");
}

void by_pinned_memory(bool written_too_early) {
  float *x = on_device(filled(0)), *pinned;
  const cudaStream_t stream = new_stream();
  check(cudaMallocHost(&pinned, kCount * sizeof(float)));
  for (int k = 0; k < kCount; ++k) pinned[k] = static_cast<float>(k);
  check(cudaMemcpyAsync(x, pinned, kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
  if (!written_too_early) check(cudaStreamSynchronize(stream));
  pinned[3] = 0;
  check(cudaStreamSynchronize(stream));
  expect(on_host(x, kCount)[3] == 3, "what pinned memory held");
  check(cudaFreeHost(pinned));
}

// A diamond of two streams, captured once and launched three times.
void as_a_graph() {
  float *x = on_device(filled(0)), *y = on_device(filled(0)), *z = on_device(filled(0));
  const cudaStream_t one = new_stream(), two = new_stream();
  const cudaEvent_t fork = new_event(), join = new_event();
  check(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
  fill<<<kGrid, kBlock, 0, one>>>(x, 2);
  check(cudaEventRecord(fork, one));
  check(cudaStreamWaitEvent(two, fork, 0));
  add<<<kGrid, kBlock, 0, two>>>(x, y);
  check(cudaEventRecord(join, two));
  add<<<kGrid, kBlock, 0, one>>>(x, z);
  check(cudaStreamWaitEvent(one, join, 0));
  add<<<kGrid, kBlock, 0, one>>>(y, z);
  cudaGraph_t graph;
  cudaGraphExec_t program;
  check(cudaStreamEndCapture(one, &graph));
  check(cudaGraphInstantiate(&program, graph, 0));
  for (int k = 0; k < 3; ++k) check(cudaGraphLaunch(program, one));
  check(cudaStreamSynchronize(one));
  expect(on_host(y, kCount)[5] == 6 && on_host(z, kCount)[5] == 18, "the sums of a graph");
  check(cudaGraphExecDestroy(program));
  check(cudaGraphDestroy(graph));
}

void with_symbols() {
  float* x = on_device(filled(3));
  const cudaStream_t stream = new_stream();
  const float values[2] = {2, 1};
  check(cudaMemcpyToSymbolAsync(shift, values, sizeof values, 0, cudaMemcpyHostToDevice, stream));
  cudaLaunchConfig_t config = {};
  config.gridDim = kGrid, config.blockDim = kBlock, config.stream = stream;
  check(cudaLaunchKernelEx(&config, shifted, x));
  check(cudaLaunchKernelEx(&config, shifted, x));
  unsigned count = 0;
  check(cudaStreamSynchronize(stream));
  check(cudaMemcpyFromSymbol(&count, calls, sizeof count));
  expect(on_host(x, kCount)[0] == 15 && count == 2, "what symbols hold");
}

cudaError_t launched(cudaError_t none) {
  const cudaError_t error = cudaGetLastError();
  expect(none == cudaSuccess, "the call before the launch");
  return error;
}
// Launches that a device refuses, each with a different error.
void beyond_limits() {
  float* x = on_device(std::vector<float>(2048, 1));
  const cudaStream_t stream = new_stream();
  fill<<<1, 1025, 0, stream>>>(x, 1);
  expect(launched(cudaSuccess) == cudaErrorInvalidConfiguration, "1025 threads");
  fill<<<0, 32, 0, stream>>>(x, 1);
  expect(launched(cudaSuccess) == cudaErrorInvalidConfiguration, "no blocks");
  fill<<<dim3(1, 65536), 32, 0, stream>>>(x, 1);
  expect(launched(cudaSuccess) == cudaErrorInvalidConfiguration, "65536 rows of blocks");
  narrow<<<1, 65, 0, stream>>>(x);
  expect(launched(cudaSuccess) == cudaErrorLaunchOutOfResources, "more threads than __launch_bounds__");
  reversed<<<1, 512, 49 << 10, stream>>>(x);
  expect(launched(cudaSuccess) == cudaErrorInvalidValue, "49 KiB of shared memory without asking");
  const auto* function = reinterpret_cast<const void*>(reversed);
  expect(
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10) == cudaErrorInvalidValue,
      "asking for 228 KiB");
  cudaGetLastError();
  reversed<<<1, 512, 49 << 10, stream>>>(x);
  expect(launched(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 49 << 10)) ==
             cudaErrorInvalidValue,
         "asking after the launch");
  reversed<<<1, 512, 49 << 10, stream>>>(x);
  expect(launched(cudaSuccess) == cudaSuccess, "49 KiB after asking");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reversed, 512, 49 << 10));
  expect(blocks == 4, "blocks of 512 threads and 50 KiB on a multiprocessor");
  check(cudaStreamSynchronize(stream));
}

}  // namespace

int main(int, char** arguments) {
  const std::string which = arguments[1];
  if (which == "right") {
    handed_over(true);
    in_stream_order(false);
    by_pinned_memory(false);
    as_a_graph();
    with_symbols();
    beyond_limits();
  } else if (which == "missing-event") {
    handed_over(false);
  } else if (which == "use-after-free") {
    in_stream_order(true);
  } else if (which == "pinned-too-early") {
    by_pinned_memory(true);
  } else if (which == "past-the-end") {
    float *x = on_device(filled(0)), *y = on_device(filled(0));
    add_past_the_end<<<kGrid, kBlock>>>(x, y);
    check(cudaDeviceSynchronize());
  } else if (which == "host-access") {
    expect(on_device(filled(0))[3] == 0, "what the host sees of device memory");
  }
  return 0;
}
