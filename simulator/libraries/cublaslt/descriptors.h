// SPDX-License-Identifier: Apache-2.0
// The contents of cuBLASLt's opaque descriptors.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

inline void count(const char* function) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  ++all.library_calls[function];
}

// A product D = alpha op(A) op(B) + beta C and its epilogue.
struct ProductDescriptor {
  int32_t compute = CUBLAS_COMPUTE_32F;
  int32_t scale = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t bias_type = -1, aux_type = -1;  // -1: the type of D
  void* bias = nullptr;                   // [m], read or (a gradient) written
  int64_t bias_batch_stride = 0;
  void* aux = nullptr;  // [m, n], the input of GELU
  int64_t aux_stride = 0, aux_batch_stride = 0;
  int32_t multiprocessors = 0;
};

struct LayoutDescriptor {
  int32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;  // elements from one line to the next: lines are columns, or rows in row order
  int32_t batch = 1;
  int64_t batch_stride = 0;

  uint64_t lines() const { return order == CUBLASLT_ORDER_COL ? columns : rows; }
  uint64_t length() const { return order == CUBLASLT_ORDER_COL ? rows : columns; }
};

struct PreferenceDescriptor {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // bytes; for A, B, C, D
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

inline ProductDescriptor& of(cublasLtMatmulDesc_t d) {
  static_assert(sizeof(ProductDescriptor) <= sizeof(cublasLtMatmulDescOpaque_t));
  return *reinterpret_cast<ProductDescriptor*>(d->data);
}
inline LayoutDescriptor& of(cublasLtMatrixLayout_t l) {
  static_assert(sizeof(LayoutDescriptor) <= sizeof(cublasLtMatrixLayoutOpaque_t));
  return *reinterpret_cast<LayoutDescriptor*>(l->data);
}
inline PreferenceDescriptor& of(cublasLtMatmulPreference_t p) {
  static_assert(sizeof(PreferenceDescriptor) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
  return *reinterpret_cast<PreferenceDescriptor*>(p->data);
}

}  // namespace weft::cuda_device
