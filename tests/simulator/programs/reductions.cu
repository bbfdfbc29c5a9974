// SPDX-License-Identifier: Apache-2.0
// Sums by shuffles, by shared memory and by cooperative groups, in two stages without atomics; one sum with atomics.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "tests/simulator/programs/program.h"

namespace cg = cooperative_groups;

namespace {

constexpr int kBlock = 128;

__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

template <bool kBarrier>
__global__ void chunk_sums(const float* x, int n, float* sums) {
  __shared__ float of_warp[kBlock / 32];
  float sum = 0;
  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) sum += x[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;  // HERE missing-barrier
  if constexpr (kBarrier) __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < kBlock / 32; ++w) all += of_warp[w];  // HERE missing-barrier
    sums[blockIdx.x] = all;
  }
}

__global__ void group_sum(const float* x, int n, float* sum) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  __shared__ float of_warp[kBlock / 32];
  float mine = 0;
  for (int i = static_cast<int>(block.thread_rank()); i < n; i += kBlock) mine += x[i];
  mine = cg::reduce(warp, mine, cg::plus<float>());
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = mine;
  block.sync();
  if (block.thread_rank() < 32) {
    float part = warp.thread_rank() < warp.meta_group_size() ? of_warp[warp.thread_rank()] : 0.f;
    part = cg::reduce(warp, part, cg::plus<float>());
    if (warp.thread_rank() == 0) *sum = part;
  }
}

// This kernel has no race, but the bits of its sum depend on the order of the blocks.
__global__ void atomic_sum(const float* x, int n, float* sum) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) atomicAdd(sum, 0.1f * x[i]);
}

template <bool kBarrier>
float sum_of(const std::vector<float>& values) {
  constexpr int kChunks = 7;
  const int n = static_cast<int>(values.size());
  float* x = on_device(values);
  float* sums = on_device(std::vector<float>(kChunks + 1));
  const cudaStream_t stream = new_stream();
  chunk_sums<kBarrier><<<kChunks, kBlock, 0, stream>>>(x, n, sums);
  group_sum<<<1, kBlock, 0, stream>>>(sums, kChunks, sums + kChunks);
  check(cudaStreamSynchronize(stream));
  return on_host(sums, kChunks + 1)[kChunks];
}

}  // namespace

int main(int, char** arguments) {
  const std::vector<float> values = draws(3001, 5);  // each chunk loops more than twice, with a tail
  double want = 0;
  for (const float value : values) want += value;
  if (arguments[1] == std::string("right")) {
    expect_near(sum_of<true>(values), want, 1e-4, "the sum");
  } else if (arguments[1] == std::string("missing-barrier")) {
    sum_of<false>(values);
  } else if (arguments[1] == std::string("atomics")) {
    float* x = on_device(values);
    float* sum = on_device(std::vector<float>(1));
    const int n = static_cast<int>(values.size());
    atomic_sum<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, sum);
    expect_near(on_host(sum, 1)[0], 0.1 * want, 1e-4, "the sum");
  }
  return 0;
}
