// SPDX-License-Identifier: Apache-2.0
// A product on tensor cores as in a first attention kernel: cp.async copies tiles into two alternating buffers,
// ldmatrix loads them into registers, and mma.sync multiplies them; its fragments are unpacked by hand.
#include <cuda_bf16.h>

#include "tests/simulator/programs/program.h"

namespace {

constexpr int kM = 32, kN = 32, kStep = 16, kRow = kStep + 8;  // rows of shared memory, padded against conflicts

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void copy_16_bytes(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared_address(shared)), "l"(global));
}
__device__ void commit() { asm volatile("cp.async.commit_group;\n"); }
template <int kLeft>
__device__ void wait_for_all_but() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft));
}

// C[m, n] = A[m, k] B[n, k]^T for a tile of 32 x 32 and four warps, one for each quarter.
template <bool kWaits>
__global__ void product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 tile_a[2][kM][kRow], tile_b[2][kN][kRow];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 2 * 16, column = warp % 2 * 16;
  a += size_t{blockIdx.y} * kM * k, b += size_t{blockIdx.x} * kN * k;
  const auto fetch = [&](int buffer, int first) {  // 64 pieces of 16 bytes for each operand
    const int piece = threadIdx.x % 64, line = piece / 2, part = piece % 2 * 8;
    if (threadIdx.x < 64)
      copy_16_bytes(&tile_a[buffer][line][part], a + size_t(line) * k + first + part);
    else
      copy_16_bytes(&tile_b[buffer][line][part], b + size_t(line) * k + first + part);
    commit();
  };
  float sums[2][4] = {};
  fetch(0, 0);
  for (int step = 0; step < k / kStep; ++step) {
    const int buffer = step % 2;
    if ((step + 1) * kStep < k) {
      fetch(1 - buffer, (step + 1) * kStep);
      if constexpr (kWaits) wait_for_all_but<1>();
    } else {
      wait_for_all_but<0>();
    }
    __syncthreads();
    unsigned fa[4], fb[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(shared_address(&tile_a[buffer][row + lane % 16][lane / 16 * 8])));  // HERE missing-wait
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3])
                 : "r"(shared_address(
                     &tile_b[buffer][column + lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8])));  // HERE missing-wait
    for (int half = 0; half < 2; ++half)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
          : "+f"(sums[half][0]), "+f"(sums[half][1]), "+f"(sums[half][2]), "+f"(sums[half][3])
          : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[2 * half]), "r"(fb[2 * half + 1]));
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half)
    for (int part = 0; part < 2; ++part) {
      const int i = blockIdx.y * kM + row + lane / 4 + part * 8;
      const int j = blockIdx.x * kN + column + half * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(&c[size_t(i) * n + j]) = {sums[half][2 * part], sums[half][2 * part + 1]};
    }
}

template <bool kWaits>
std::vector<float> multiply(const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k) {
  const auto halves = [](const std::vector<float>& values) {
    std::vector<__nv_bfloat16> to(values.size());
    for (size_t i = 0; i < values.size(); ++i) to[i] = __float2bfloat16(values[i]);
    return to;
  };
  const __nv_bfloat16 *da = on_device(halves(a)), *db = on_device(halves(b));
  float* c = on_device(std::vector<float>(size_t(m) * n));
  product<kWaits><<<dim3(n / kN, m / kM), 128>>>(da, db, c, n, k);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  return on_host(c, size_t(m) * n);
}

}  // namespace

int main(int, char** arguments) {
  const int m = 64, n = 96, k = 80;  // five steps: both buffers are filled more than once
  const std::vector<float> a = draws(size_t(m) * k, 1), b = draws(size_t(n) * k, 2);
  if (arguments[1] == std::string("missing-wait")) {
    multiply<false>(a, b, m, n, k);
    return 0;
  }
  const std::vector<float> c = multiply<true>(a, b, m, n, k);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0;
      for (int l = 0; l < k; ++l) want += double{a[size_t(i) * k + l]} * b[size_t(j) * k + l];
      expect_near(c[size_t(i) * n + j], want, 1e-4, "an element of the product");
    }
  return 0;
}
