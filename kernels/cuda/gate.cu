// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/activated.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/ops/activation.h"

namespace weft::cuda {
namespace {

// y = dropout(act(gate) * up)
template <Activation Act, int N, class T>
struct Gated {
  const T* pre;
  T* y;
  int64_t columns;
  DropoutMask mask;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    const T* gate = pre + row * 2 * columns + column;
    float up[N];
    load_whole(gate, v), load_whole(gate + columns, up);
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] = activated<Act>(v[j]) * up[j];
    if (mask.active()) mask.multiply(row, column, v);
    store_whole(y + row * columns + column, v);
  }
};

// dpre may be pre: a thread has read both of its pieces before it writes them.
template <Activation Act, int N, class T>
struct GateGradient {
  const T *dy, *pre;
  T* dpre;
  int64_t columns;
  DropoutMask mask;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    const int64_t at = row * 2 * columns + column;
    float gate[N], up[N];
    load_whole(dy + row * columns + column, v);
    load_whole(pre + at, gate), load_whole(pre + at + columns, up);
    if (mask.active()) mask.multiply(row, column, v);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      up[j] *= v[j] * activation_slope<Act>(gate[j]);
      v[j] *= activated<Act>(gate[j]);
    }
    store_whole(dpre + at, up), store_whole(dpre + at + columns, v);
  }
};

}  // namespace

template <>
void CudaBackend::run(const GateForward& args) {
  const int64_t rows = args.y.rows(), columns = args.y.columns();
  with_device_type(args.y.dtype(), [&]<class T>() {
    const T* pre = elements_of<const T>(args.pre);
    T* y = elements_of<T>(args.y);
    const bool vectors = vectorised(pre, columns) && vectorised(y, columns);
    with_element_form<T>(args.activation, vectors, [&]<Activation Act, int N>() {
      launch_pieces<N>(stream(), Gated<Act, N, T>{pre, y, columns, DropoutMask(args.dropout)}, rows, columns);
    });
  });
}

template <>
void CudaBackend::run(const GateBackward& args) {
  const int64_t rows = args.dy.rows(), columns = args.dy.columns();
  with_device_type(args.dy.dtype(), [&]<class T>() {
    const T *dy = elements_of<const T>(args.dy), *pre = elements_of<const T>(args.pre);
    T* dpre = elements_of<T>(args.dpre);
    const bool vectors = vectorised(dy, columns) && vectorised(pre, columns) && vectorised(dpre, columns);
    with_element_form<T>(args.activation, vectors, [&]<Activation Act, int N>() {
      const GateGradient<Act, N, T> gradient{dy, pre, dpre, columns, DropoutMask(args.dropout)};
      launch_pieces<N>(stream(), gradient, rows, columns);
    });
  });
}

}  // namespace weft::cuda
