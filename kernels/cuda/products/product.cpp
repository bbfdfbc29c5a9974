// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/product.h"

#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

cudaDataType_t type_of(DType dtype) { return dtype == DType::F32 ? CUDA_R_32F : CUDA_R_16BF; }

}  // namespace

cublasLtEpilogue_t epilogue_of(const FusedGemm& gemm) {
  switch (gemm.gelu) {
    case FusedGelu::Forward:
      return gemm.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case FusedGelu::Gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case FusedGelu::None:
      return gemm.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
  throw InternalError("no such epilogue");
}

Product::Product(const BlasLibrary& blas, const FusedGemm& g, bool tf32)
    : blas_(blas),
      description_(describe(g, tf32), blas.destroy_description),
      first_(layout(g.input, g.transpose_b ? g.k : g.n, g.transpose_b ? g.n : g.k), blas.destroy_layout),
      second_(layout(g.input, g.transpose_a ? g.m : g.k, g.transpose_a ? g.k : g.m), blas.destroy_layout),
      result_(layout(g.output, g.n, g.m), blas.destroy_layout) {}

template <class T>
void Product::set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) const {
  blas_.check(blas_.set_description(description, attribute, &value, sizeof value), "describing a product");
}

cublasLtMatmulDesc_t Product::describe(const FusedGemm& g, bool tf32) const {
  const auto compute = tf32 && g.input == DType::F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t made = nullptr;
  blas_.check(blas_.create_description(&made, compute, CUDA_R_32F), "making a description");
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(g));
  if (g.saved) set(made, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, g.n);
  point(made, g);
  return made;
}

void Product::point(cublasLtMatmulDesc_t description, const FusedGemm& g) const {
  if (g.bias) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);
  if (g.saved) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, g.saved);
}

cublasLtMatrixLayout_t Product::layout(DType dtype, int64_t rows, int64_t columns) const {
  cublasLtMatrixLayout_t made = nullptr;
  blas_.check(
      blas_.create_layout(&made, type_of(dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
      "making a layout");
  return made;
}

cublasStatus_t ProductQueue::run(const FusedGemm& gemm, const Product& product,
                                 const cublasLtMatmulAlgo_t& algorithm) const {
  const float one = 1, beta = gemm.add ? 1 : 0;
  return blas.matmul(handle, product.description(), &one, gemm.b, product.first(), gemm.a, product.second(), &beta,
                     gemm.c, product.result(), gemm.c, product.result(), &algorithm, workspace,
                     tuning::kProductWorkspaceBytes, stream.get());
}

}  // namespace weft::cuda
