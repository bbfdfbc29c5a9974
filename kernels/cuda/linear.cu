// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/gemm.h"
#include "kernels/cuda/activated.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"

namespace weft::cuda {
namespace {

bool fused_gelu(const LinearForward& args) {
  return fits_product(args.activation, args.dropout) &&
         fits_saved(args.y.columns(), args.pre ? args.pre.device_raw() : nullptr);
}
bool fused_gelu(const LinearBackward& args) {
  return fits_product(args.input_activation, args.input_dropout) && args.dx && args.dx.mode == Accumulate::Overwrite &&
         fits_saved(args.dx.tensor.columns(), args.input_pre.device_raw());
}

template <class T>
void producer_gradient(const Stream& stream, const LinearBackward& args, Scratch& scratch) {
  const int64_t rows = args.dx.tensor.rows(), columns = args.dx.tensor.columns();
  const T* pre = elements_of<const T>(args.input_pre);
  T* dx = elements_of<T>(args.dx.tensor);
  const bool vectors = vectorised(dx, columns) && (!pre || vectorised(pre, columns));
  with_element_form<T>(args.input_activation, vectors, [&]<Activation Act, int N>() {
    const ProducerGradient<Act, N, T> gradient{pre, dx, columns, DropoutMask(args.input_dropout)};
    if (!args.input_dbias) return launch_pieces<N>(stream, gradient, rows, columns);
    sum_columns<N>(stream, gradient, rows, columns, args.input_dbias.tensor.device_data<float>(), args.input_dbias.mode,
                   scratch);
  });
}

template <class T>
void activate(const Stream& stream, const Activate& args) {
  const int64_t rows = args.y.rows(), columns = args.y.columns();
  const T* pre = elements_of<const T>(args.pre);
  T* y = elements_of<T>(args.y);
  with_element_form<T>(
      args.activation, vectorised(pre, columns) && vectorised(y, columns), [&]<Activation Act, int N>() {
        launch_pieces<N>(stream, Activated<Act, N, T>{pre, y, columns, DropoutMask(args.dropout)}, rows, columns);
      });
}

}  // namespace

template <>
void CudaBackend::run(const Activate& args) {
  with_device_type(args.y.dtype(), [&]<class T>() { activate<T>(stream(), args); });
}

// cuBLASLt's epilogue saves the input of the activation. Without `pre` it goes to scratch, so that a forward that is
// recomputed later gives the same bits as the first.
template <>
size_t CudaBackend::workspace(const LinearForward& args) const {
  return fused_gelu(args) && !args.pre && !args.packed ? args.y.bytes() : 0;
}

template <>
void CudaBackend::run(const LinearForward& args, Scratch scratch) {
  require_device_type(args.x.dtype());
  if (args.y.elements() == 0) return;
  if (args.packed) return packed_linear(args);
  const Tensor& product = args.pre ? args.pre : args.y;
  FusedGemm gemm{forward_gemm(args, product)};
  // A bias has the type of x, but an epilogue takes a bias of y's type.
  const bool bias_apart = args.bias && args.x.dtype() != args.y.dtype();
  if (args.bias && !bias_apart) gemm.bias = args.bias.device_raw();
  if (fused_gelu(args)) {
    gemm.c = args.y.device_raw();
    gemm.saved = args.pre ? args.pre.device_raw() : scratch.take<std::byte>(static_cast<int64_t>(args.y.bytes()));
    gemm.gelu = FusedGelu::Forward;
    return matmul().run(gemm);
  }
  matmul().run(gemm);
  if (bias_apart) run(AddRow{args.bias, args.y});
  if (args.activation == Activation::None && !args.dropout.active() && !args.pre) return;
  run(Activate{.pre = product, .activation = args.activation, .dropout = args.dropout, .y = args.y});
}

// Sums of bias gradients are not left to cuBLASLt's epilogues: those of dx would round them to its type, those of a
// weight's gradient are slower than these (bench/README.md), and both replace the values that are there.
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
    FusedGemm gemm{input_gradient_gemm(args)};
    if (fused) gemm.gelu = FusedGelu::Gradient, gemm.saved = args.input_pre.device_raw();
    matmul().run(gemm);
    if (fused && args.input_dbias) {
      column_sums(stream(), args.dx.tensor, args.input_dbias.tensor, args.input_dbias.mode, scratch);
    } else if (!fused && has_producer(args)) {
      with_device_type(dtype, [&]<class T>() { producer_gradient<T>(stream(), args, scratch); });
    }
  }
  if (args.dbias) column_sums(stream(), args.dy, args.dbias.tensor, args.dbias.mode, scratch);
  if (args.dweight) matmul().run({weight_gradient_gemm(args)});
}

template <>
void CudaBackend::run(const Matmul& args) {
  require_device_type(args.a.dtype());
  matmul().run({gemm_of(args)});
}

}  // namespace weft::cuda
