// SPDX-License-Identifier: Apache-2.0
// Descriptors: creation, attributes written and read, destruction.
#include "simulator/libraries/cublaslt/descriptors.h"

#include <cstring>
#include <new>
#include <string>

using namespace weft::cuda_device;

namespace {

// The place where an attribute is stored; nullptr if the attribute is not simulated.
struct Field {
  void* p = nullptr;
  size_t bytes = 0;
};
template <class T>
Field field(T& t) {
  return {&t, sizeof t};
}

Field field_of(ProductDescriptor& d, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return field(d.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return field(d.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return field(d.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return field(d.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return field(d.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return field(d.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return field(d.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return field(d.bias_batch_stride);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return field(d.bias_type);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return field(d.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return field(d.aux_stride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return field(d.aux_batch_stride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return field(d.aux_type);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
      return field(d.multiprocessors);
    default:
      refuse("cublasLtMatmulDesc: attribute " + std::to_string(attribute) + " is not simulated");
  }
}

Field field_of(LayoutDescriptor& l, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return field(l.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return field(l.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return field(l.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return field(l.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return field(l.stride);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return field(l.batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return field(l.batch_stride);
    default:
      refuse("cublasLtMatrixLayout: attribute " + std::to_string(attribute) + " is not simulated");
  }
}

Field field_of(PreferenceDescriptor& p, cublasLtMatmulPreferenceAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return field(p.workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return field(p.reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return field(p.alignment[0]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return field(p.alignment[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return field(p.alignment[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return field(p.alignment[3]);
    default:
      refuse("cublasLtMatmulPreference: attribute " + std::to_string(attribute) + " is not simulated");
  }
}

cublasStatus_t set(Field field, const void* from, size_t bytes) {
  if (!from || bytes != field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field.p, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
// Without room for the value, get() returns only its size.
cublasStatus_t get(Field field, void* to, size_t bytes, size_t* written) {
  if (bytes == 0 ? !written : !to || bytes != field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes) std::memcpy(to, field.p, bytes);
  if (written) *written = field.bytes;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Own, class Opaque>
cublasStatus_t initialise(Opaque* opaque, size_t bytes, Own value) {
  if (bytes < sizeof *opaque) return CUBLAS_STATUS_ALLOC_FAILED;
  new (opaque->data) Own(value);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  return initialise(d, bytes, ProductDescriptor{.compute = compute, .scale = scale});
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t compute, cudaDataType_t scale) {
  count(__func__);
  *d = new cublasLtMatmulDescOpaque_t{};
  return cublasLtMatmulDescInit_internal(*d, sizeof **d, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete d;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, size_t bytes) {
  count(__func__);
  return set(field_of(of(d), attribute), from, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
                                              void* to, size_t bytes, size_t* written) {
  return get(field_of(of(d), attribute), to, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t l, size_t bytes, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t stride) {
  return initialise(l, bytes, LayoutDescriptor{.type = type, .rows = rows, .columns = columns, .stride = stride});
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t stride) {
  count(__func__);
  *l = new cublasLtMatrixLayoutOpaque_t{};
  return cublasLtMatrixLayoutInit_internal(*l, sizeof **l, type, rows, columns, stride);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  delete l;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, size_t bytes) {
  count(__func__);
  return set(field_of(of(l), attribute), from, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t attribute,
                                                void* to, size_t bytes, size_t* written) {
  return get(field_of(of(l), attribute), to, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, size_t bytes) {
  return initialise(p, bytes, PreferenceDescriptor{});
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  count(__func__);
  *p = new cublasLtMatmulPreferenceOpaque_t{};
  return cublasLtMatmulPreferenceInit_internal(*p, sizeof **p);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete p;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                                                    size_t bytes) {
  count(__func__);
  return set(field_of(of(p), attribute), from, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, void* to,
                                                    size_t bytes, size_t* written) {
  return get(field_of(of(p), attribute), to, bytes, written);
}

}  // extern "C"
