// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"

// What follows a product element by element, for pieces of N neighbouring elements of a row.
namespace weft::cuda {

// Calls f.template operator()<Act, N>(), N a vector of T if rows can be read so, else 1.
template <class T, class F>
void with_element_form(Activation activation, bool vectors, F&& f) {
  with_activation(activation, [&]<Activation Act>() {
    vectors ? f.template operator()<Act, kVector<T>>() : f.template operator()<Act, 1>();
  });
}

// y = dropout(act(pre))
template <Activation Act, int N, class T>
struct Activated {
  const T* pre;
  T* y;
  int64_t columns;
  DropoutMask mask;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    const int64_t at = row * columns + column;
    load_whole(pre + at, v);
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] = activated<Act>(v[j]);
    if (mask.active()) mask.multiply(row, column, v);
    store_whole(y + at, v);
  }
};

// dx: the gradient of x = dropout(act(pre)), which becomes that of pre in place. Sums over rows read it unrounded.
template <Activation Act, int N, class T>
struct ProducerGradient {
  static constexpr int kRowsAtOnce = 1;  // a row of an activation's gradient and its mask takes many registers
  const T* pre;
  T* dx;
  int64_t columns;
  DropoutMask mask;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    const int64_t at = row * columns + column;
    load_whole(dx + at, v);
    if constexpr (Act != Activation::None) {
      float x[N];
      load_whole(pre + at, x);
#pragma unroll
      for (int j = 0; j < N; ++j) v[j] *= activation_slope<Act>(x[j]);
    }
    if (mask.active()) mask.multiply(row, column, v);
    store_whole(dx + at, v);
  }
};

template <int N, class Each>
__global__ void elementwise_pieces(Each each, int64_t rows, int64_t columns) {
  const int64_t pieces = columns / N, i = thread_index();
  if (i >= rows * pieces) return;
  float v[N];
  each(i / pieces, i % pieces * N, v);
}

template <int N, class Each>
void launch_pieces(const Stream& stream, const Each& each, int64_t rows, int64_t columns) {
  launch(stream, elementwise_pieces<N, Each>, blocks_for(rows * (columns / N), tuning::kElementThreads),
         tuning::kElementThreads, 0, each, rows, columns);
}

}  // namespace weft::cuda
