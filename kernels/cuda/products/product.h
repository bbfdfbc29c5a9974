// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/products/blas_library.h"
#include "kernels/cuda/products/matmul.h"

namespace weft::cuda {

// An object that cuBLASLt makes and must be given back to it.
template <class Handle, class Destroy>
class Owned {
 public:
  Owned(Handle handle, Destroy destroy) : handle_(handle), destroy_(destroy) {}
  ~Owned() { destroy_(handle_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_;
  Destroy destroy_;
};

cublasLtEpilogue_t epilogue_of(const FusedGemm& gemm);

// A matrix product as cuBLASLt describes it.
class Product {
 public:
  // Only inputs of fp32 are rounded to TF32.
  Product(const BlasLibrary& blas, const FusedGemm& gemm, bool tf32);

  // Takes the bias and `saved` of a product of the same kind. The other addresses are said when a product runs.
  void point_to(const FusedGemm& gemm) { point(description_.get(), gemm); }

  cublasLtMatmulDesc_t description() const { return description_.get(); }
  // cuBLASLt's matrices have dense columns: a row-major [rows, columns] is one of theirs transposed, [columns, rows].
  // So it computes c^T = op(b)^T op(a)^T, with b first.
  cublasLtMatrixLayout_t first() const { return first_.get(); }
  cublasLtMatrixLayout_t second() const { return second_.get(); }
  cublasLtMatrixLayout_t result() const { return result_.get(); }

 private:
  template <class T>
  void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) const;
  void point(cublasLtMatmulDesc_t description, const FusedGemm& gemm) const;
  cublasLtMatmulDesc_t describe(const FusedGemm& gemm, bool tf32) const;
  cublasLtMatrixLayout_t layout(DType dtype, int64_t rows, int64_t columns) const;

  using Layout = Owned<cublasLtMatrixLayout_t, decltype(&cublasLtMatrixLayoutDestroy)>;
  const BlasLibrary& blas_;
  Owned<cublasLtMatmulDesc_t, decltype(&cublasLtMatmulDescDestroy)> description_;
  Layout first_, second_, result_;
};

// Where products run: a stream, and a workspace that its products alone use.
struct ProductQueue {
  const Stream& stream;
  const BlasLibrary& blas;
  cublasLtHandle_t handle;
  void* workspace;

  cublasStatus_t run(const FusedGemm& gemm, const Product& product, const cublasLtMatmulAlgo_t& algorithm) const;
};

}  // namespace weft::cuda
