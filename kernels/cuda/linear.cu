// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;

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

// From the gradient of x = dropout(act(pre)) to that of pre, in place; what it brings to a sum over rows is not
// rounded.
template <Activation Act, int N, class T>
struct ProducerGradient {
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
__global__ void each_piece(Each each, int64_t rows, int64_t columns) {
  const int64_t pieces = columns / N, i = thread_index();
  if (i >= rows * pieces) return;
  float v[N];
  each(i / pieces, i % pieces * N, v);
}

template <int N, class Each>
void launch_pieces(const Stream& stream, const Each& each, int64_t rows, int64_t columns) {
  launch(stream, each_piece<N, Each>, blocks_for(rows * (columns / N), kThreads), kThreads, 0, each, rows, columns);
}

// Calls f.template operator()<N>() with N a vector where rows can be read so, else 1.
template <class T, class F>
void with_pieces(bool vectors, F&& f) {
  if (vectors) return f.template operator()<kVector<T>>();
  f.template operator()<1>();
}

bool fused_gelu(const LinearForward& args) {
  return args.activation == Activation::GeluTanh && !args.dropout.active() &&
         fits_saved(args.y.columns(), args.pre ? args.pre.device_raw() : nullptr);
}
bool fused_gelu(const LinearBackward& args) {
  return args.input_activation == Activation::GeluTanh && !args.input_dropout.active() && args.dx &&
         args.dx.mode == Accumulate::Overwrite && fits_saved(args.dx.tensor.columns(), args.input_pre.device_raw());
}

bool has_producer(const LinearBackward& args) {
  return args.input_activation != Activation::None || args.input_dropout.active() || args.input_dbias;
}

template <class T>
void producer_gradient(const Stream& stream, const LinearBackward& args, Scratch& scratch) {
  const int64_t rows = args.dx.tensor.rows(), columns = args.dx.tensor.columns();
  const T* pre = elements_of<const T>(args.input_pre);
  T* dx = elements_of<T>(args.dx.tensor);
  const bool vectors = vectorised(dx, columns) && (!pre || vectorised(pre, columns));
  with_activation(args.input_activation, [&]<Activation Act>() {
    with_pieces<T>(vectors, [&]<int N>() {
      const ProducerGradient<Act, N, T> gradient{pre, dx, columns, DropoutMask(args.input_dropout)};
      if (args.input_dbias) {
        sum_columns<N>(stream, gradient, rows, columns, args.input_dbias.tensor.device_data<float>(),
                       args.input_dbias.mode, scratch);
      } else {
        launch_pieces<N>(stream, gradient, rows, columns);
      }
    });
  });
}

}  // namespace

template <>
void CudaBackend::run(const Activate& args) {
  with_device_type(args.y.dtype(), [&]<class T>() {
    const int64_t rows = args.y.rows(), columns = args.y.columns();
    const T* pre = elements_of<const T>(args.pre);
    T* y = elements_of<T>(args.y);
    with_activation(args.activation, [&]<Activation Act>() {
      with_pieces<T>(vectorised(pre, columns) && vectorised(y, columns), [&]<int N>() {
        launch_pieces<N>(stream(), Activated<Act, N, T>{pre, y, columns, DropoutMask(args.dropout)}, rows, columns);
      });
    });
  });
}

// cuBLASLt's epilogue keeps what stood before the activation. Without `pre` it goes to scratch, so that a forward that
// is recomputed later gives the same bits as the first.
template <>
size_t CudaBackend::workspace(const LinearForward& args) const {
  return fused_gelu(args) && !args.pre && !args.packed ? args.y.bytes() : 0;
}

template <>
void CudaBackend::run(const LinearForward& args, Scratch scratch) {
  require_device_type(args.x.dtype());
  if (args.y.elements() == 0) return;
  if (args.packed) return packed_linear(args);
  Gemm gemm{.m = args.y.rows(),
            .n = args.y.columns(),
            .k = args.x.columns(),
            .input = args.x.dtype(),
            .output = args.y.dtype(),
            .a = args.x.device_raw(),
            .b = args.weight.device_raw(),
            .transpose_b = true};
  // A bias is of x's type, and an epilogue takes one of y's.
  const bool bias_apart = args.bias && args.x.dtype() != args.y.dtype();
  if (args.bias && !bias_apart) gemm.bias = args.bias.device_raw();
  if (fused_gelu(args)) {
    gemm.c = args.y.device_raw();
    gemm.saved = args.pre ? args.pre.device_raw() : scratch.take<std::byte>(static_cast<int64_t>(args.y.bytes()));
    gemm.gelu = FusedGelu::Forward;
    return matmul().run(gemm);
  }
  const Tensor& product = args.pre ? args.pre : args.y;
  gemm.c = product.device_raw();
  matmul().run(gemm);
  if (bias_apart) run(AddRow{args.bias, args.y});
  if (args.activation == Activation::None && !args.dropout.active() && !args.pre) return;
  run(Activate{.pre = product, .activation = args.activation, .dropout = args.dropout, .y = args.y});
}

// Sums of bias gradients are not left to cuBLASLt's epilogues: they would be rounded to bf16, and replace what is
// there.
template <>
size_t CudaBackend::workspace(const LinearBackward& args) const {
  size_t bytes = 0;
  if (args.dbias) bytes += column_sums_bytes(args.dy.rows(), args.dy.columns());
  if (args.input_dbias) bytes += column_sums_bytes(args.dx.tensor.rows(), args.dx.tensor.columns());
  return bytes;
}

template <>
void CudaBackend::run(const LinearBackward& args, Scratch scratch) {
  const DType dtype = args.dy.dtype();
  require_device_type(dtype);
  if (args.dx) {
    const bool fused = fused_gelu(args);
    matmul().run({.m = args.dy.rows(),
                  .n = args.dx.tensor.columns(),
                  .k = args.dy.columns(),
                  .input = dtype,
                  .output = dtype,
                  .a = args.dy.device_raw(),
                  .b = args.weight.device_raw(),
                  .c = args.dx.tensor.device_raw(),
                  .gelu = fused ? FusedGelu::Gradient : FusedGelu::None,
                  .saved = fused ? args.input_pre.device_raw() : nullptr,
                  .add = args.dx.mode == Accumulate::Add});
    if (fused && args.input_dbias) {
      column_sums(stream(), args.dx.tensor, args.input_dbias.tensor, args.input_dbias.mode, scratch);
    } else if (!fused && has_producer(args)) {
      with_device_type(dtype, [&]<class T>() { producer_gradient<T>(stream(), args, scratch); });
    }
  }
  if (args.dbias) column_sums(stream(), args.dy, args.dbias.tensor, args.dbias.mode, scratch);
  if (!args.dweight) return;
  matmul().run({.m = args.dy.columns(),
                .n = args.x.columns(),
                .k = args.dy.rows(),
                .input = dtype,
                .output = args.dweight.tensor.dtype(),
                .a = args.dy.device_raw(),
                .transpose_a = true,
                .b = args.x.device_raw(),
                .c = args.dweight.tensor.device_raw(),
                .add = args.dweight.mode == Accumulate::Add});
}

template <>
void CudaBackend::run(const Matmul& args) {
  require_device_type(args.a.dtype());
  matmul().run({.m = args.c.rows(),
                .n = args.c.columns(),
                .k = args.transpose_a ? args.a.rows() : args.a.columns(),
                .input = args.a.dtype(),
                .output = args.c.dtype(),
                .a = args.a.device_raw(),
                .transpose_a = args.transpose_a,
                .b = args.b.device_raw(),
                .transpose_b = args.transpose_b,
                .c = args.c.device_raw(),
                .add = args.mode == Accumulate::Add});
}

}  // namespace weft::cuda
