// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <memory>
#include <string>

namespace weft::cuda {

// cuBLASLt. It is opened when the process first uses a device, and kept: loading takes 0.1 s and 190 MB, which a
// process that computes on the CPU does not pay.
struct BlasLibrary {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoCheck) check_algorithm;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) create_description;
  decltype(&cublasLtMatmulDescDestroy) destroy_description;
  decltype(&cublasLtMatmulDescSetAttribute) set_description;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;

  // Throws a DeviceError that names the library, where it was looked for, and what is missing in it.
  static std::shared_ptr<const BlasLibrary> open();
  // Throws a DeviceError with the library's words for `status`, unless it is success.
  void check(cublasStatus_t status, const char* call) const;
  std::string version_text() const;  // "cuBLASLt 13.1.0"
};

}  // namespace weft::cuda
