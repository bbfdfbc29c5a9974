// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <memory>
#include <string>

namespace weft::cuda {

// cuBLASLt, opened when the first device of the process is used and kept: to load it takes 0.1 s and 190 MB, which a
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

  // DeviceError that names the library, where it was looked for, and what is missing in it.
  static std::shared_ptr<const BlasLibrary> open();
  // Throws what `status` says.
  void check(cublasStatus_t status, const char* call) const;
  std::string version_text() const;  // "cuBLASLt 13.1.0"
};

}  // namespace weft::cuda
