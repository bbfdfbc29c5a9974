// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/blas_library.h"

#include "base/error.h"
#include "base/process/shared_library.h"

namespace weft::cuda {

std::shared_ptr<const BlasLibrary> BlasLibrary::open() {
  const SharedLibrary library(
      shared_library_file("cublasLt", CUBLAS_VER_MAJOR), "cannot load cuBLASLt, CUDA's matrix products",
      fmt::format("install the cuBLAS of CUDA {}, with which this weft is built, or add its folder to LD_LIBRARY_PATH; "
                  "device: cpu does not need it",
                  CUBLAS_VER_MAJOR));
  auto blas = std::make_shared<BlasLibrary>();
  library.find("cublasLtCreate", blas->create);
  library.find("cublasLtDestroy", blas->destroy);
  library.find("cublasLtGetVersion", blas->version);
  library.find("cublasLtGetStatusString", blas->status_string);
  library.find("cublasLtMatmul", blas->matmul);
  library.find("cublasLtMatmulAlgoCheck", blas->check_algorithm);
  library.find("cublasLtMatmulAlgoGetHeuristic", blas->heuristic);
  library.find("cublasLtMatmulDescCreate", blas->create_description);
  library.find("cublasLtMatmulDescDestroy", blas->destroy_description);
  library.find("cublasLtMatmulDescSetAttribute", blas->set_description);
  library.find("cublasLtMatrixLayoutCreate", blas->create_layout);
  library.find("cublasLtMatrixLayoutDestroy", blas->destroy_layout);
  library.find("cublasLtMatmulPreferenceCreate", blas->create_preference);
  library.find("cublasLtMatmulPreferenceDestroy", blas->destroy_preference);
  library.find("cublasLtMatmulPreferenceSetAttribute", blas->set_preference);
  return blas;
}

void BlasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(fmt::format("cuBLASLt: {}: {}", call, status_string(status)));
}

std::string BlasLibrary::version_text() const {
  const size_t v = version();
  return fmt::format("cuBLASLt {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

}  // namespace weft::cuda
