// SPDX-License-Identifier: Apache-2.0
// The program of simulator/README.md: an ordinary CUDA program with a mistake for the simulator to find.
#include <cstdio>

__global__ void sums(const float* x, float* y) {
  __shared__ float part[64];
  part[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (float p : part) sum += p;
  y[blockIdx.x] = sum;
}

int main() {
  float *x, *y, first;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaMalloc(&y, 4 * sizeof(float));
  cudaMemset(x, 0, 256 * sizeof(float));
  sums<<<4, 64>>>(x, y);
  cudaMemcpy(&first, y, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("the first block's sum is %g\n", first);
}
