// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/algorithms.h"

#include <array>

#include "kernels/cuda/tuning.h"

namespace weft::cuda {

using tuning::kProductCandidates, tuning::kProductWorkspaceBytes;

uint32_t alignment(const void* p) {
  constexpr uintptr_t kMost = 256;
  const auto address = reinterpret_cast<uintptr_t>(p) | kMost;
  return static_cast<uint32_t>(address & (~address + 1));
}

std::vector<cublasLtMatmulAlgo_t> offered(const ProductQueue& queue, const FusedGemm& gemm, bool tf32, int most) {
  const BlasLibrary& blas = queue.blas;
  cublasLtMatmulPreference_t made = nullptr;
  blas.check(blas.create_preference(&made), "making a preference");
  const Owned preference(made, blas.destroy_preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    blas.check(blas.set_preference(made, attribute, &value, sizeof value), "preferring an algorithm");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kProductWorkspaceBytes);
  // An algorithm that divides the inner dimension keeps its parts' sums in fp32 and adds them in one order. Unasked,
  // it may also add them into the result as they come, or keep them in the result's type.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.c));
  const Product product(blas, gemm, tf32);
  std::array<cublasLtMatmulHeuristicResult_t, kProductCandidates> found{};
  int count = 0;
  const cublasStatus_t status =
      blas.heuristic(queue.handle, product.description(), product.first(), product.second(), product.result(),
                     product.result(), preference.get(), most, found.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  // Of products with one row or one column it also says that an argument has a value that it does not take.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return algorithms;
  blas.check(status, "asking for algorithms");
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& one = found[static_cast<size_t>(i)];
    if (one.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(one.algo);
  }
  return algorithms;
}

bool fits(const ProductQueue& queue, const cublasLtMatmulAlgo_t& algorithm, const Product& product) {
  cublasLtMatmulHeuristicResult_t needs{};
  const cublasStatus_t status =
      queue.blas.check_algorithm(queue.handle, product.description(), product.first(), product.second(),
                                 product.result(), product.result(), &algorithm, &needs);
  return status == CUBLAS_STATUS_SUCCESS && needs.workspaceSize <= kProductWorkspaceBytes;
}

}  // namespace weft::cuda
