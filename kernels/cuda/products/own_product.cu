// SPDX-License-Identifier: Apache-2.0
#include "base/divide_up.h"
#include "kernels/cuda/products/own_product.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/cuda/vector.cuh"

namespace weft::cuda {
namespace {

using tuning::kOwnProductDepth, tuning::kOwnProductTile;
constexpr int kTile = kOwnProductTile, kDepth = kOwnProductDepth;
constexpr int kOf = 4;              // a thread computes kOf x kOf elements of the result
constexpr int kSide = kTile / kOf;  // threads along a side of a tile
constexpr int kThreads = kSide * kSide;
constexpr int kStride = kTile + kVector<float>;  // so that neighbouring k lie in different banks

// Lines of an operand, which have an element for each k: rows of op(a), columns of op(b).
template <class T>
struct Lines {
  const T* at;
  int64_t count, step, k_step;  // elements from one line, and from one k, to the next
};

// Loads kTile lines from `first` on, of kDepth elements from k on, and 0 where there are none. Neighbouring threads
// read neighbours in memory.
template <class T>
__device__ void load_tile(float (&tile)[kDepth][kStride], const Lines<T>& lines, int64_t first, int64_t k,
                          int64_t depth) {
  const bool along_k = lines.k_step == 1;
#pragma unroll
  for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads;
    const int line = along_k ? at / kDepth : at % kTile, l = along_k ? at % kDepth : at / kTile;
    const bool inside = first + line < lines.count && k + l < depth;
    tile[l][line] = inside ? to_float(lines.at[(first + line) * lines.step + (k + l) * lines.k_step]) : 0;
  }
}

// Block i computes a tile of kTile x kTile elements of c, counted along the rows of tiles.
template <class In, class Out>
__global__ void __launch_bounds__(kThreads)
    multiply_tiles(Lines<In> a, Lines<In> b, int64_t depth, Out* c, int64_t tiles_of_row, bool add) {
  __shared__ __align__(16) float a_tile[kDepth][kStride], b_tile[kDepth][kStride];
  const int64_t row = blockIdx.x / tiles_of_row * kTile, column = blockIdx.x % tiles_of_row * kTile;
  const int y = static_cast<int>(threadIdx.x) / kSide * kOf, x = static_cast<int>(threadIdx.x) % kSide * kOf;
  float sum[kOf][kOf] = {};
  for (int64_t k = 0; k < depth; k += kDepth) {
    __syncthreads();
    load_tile(a_tile, a, row, k, depth);
    load_tile(b_tile, b, column, k, depth);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < kDepth; ++l) {
      float left[kOf], right[kOf];
      load_vector(&a_tile[l][y], left);
      load_vector(&b_tile[l][x], right);
#pragma unroll
      for (int i = 0; i < kOf; ++i) {
#pragma unroll
        for (int j = 0; j < kOf; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
      }
    }
  }
  for (int i = 0; i < kOf && row + y + i < a.count; ++i) {
    for (int j = 0; j < kOf && column + x + j < b.count; ++j) {
      Out* const to = c + (row + y + i) * b.count + column + x + j;
      *to = from_float<Out>(add ? to_float(*to) + sum[i][j] : sum[i][j]);
    }
  }
}

template <class In, class Out>
void multiply(const Stream& stream, const Gemm& g) {
  const Lines<In> a{static_cast<const In*>(g.a), g.m, g.transpose_a ? 1 : g.k, g.transpose_a ? g.m : 1};
  const Lines<In> b{static_cast<const In*>(g.b), g.n, g.transpose_b ? g.k : 1, g.transpose_b ? 1 : g.n};
  const int64_t across = divide_up(g.n, kTile), down = divide_up(g.m, kTile);
  launch(stream, multiply_tiles<In, Out>, static_cast<unsigned>(across * down), kThreads, 0, a, b, g.k,
         static_cast<Out*>(g.c), across, g.add);
}

}  // namespace

void own_product(const Stream& stream, const Gemm& gemm) {
  with_device_type(gemm.input, [&]<class In>() {
    if (gemm.output == gemm.input) return multiply<In, In>(stream, gemm);
    multiply<In, float>(stream, gemm);
  });
}

}  // namespace weft::cuda
