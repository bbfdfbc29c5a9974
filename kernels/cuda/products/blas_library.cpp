#include "kernels/cuda/products/blas_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace weft::cuda {
namespace {

constexpr const char* kName = "libcublasLt.so.13";
constexpr const char* kHint =
    "install CUDA 13's cuBLAS, or say in LD_LIBRARY_PATH where it is; device: cpu needs none of it";

// Closed at the end of the process: its own threads may outlive whoever opened it.
void* opened() {
  void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw DeviceError(fmt::format("CUDA's matrix products are not to be had: {}", dlerror()), kHint);
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  if (!to) throw DeviceError(fmt::format("{} has no {}: it is of another version", kName, name), kHint);
}

}  // namespace

std::shared_ptr<const BlasLibrary> BlasLibrary::open() {
  void* library = opened();
  auto blas = std::make_shared<BlasLibrary>();
  find(library, "cublasLtCreate", blas->create);
  find(library, "cublasLtDestroy", blas->destroy);
  find(library, "cublasLtGetVersion", blas->version);
  find(library, "cublasLtGetStatusString", blas->status_string);
  find(library, "cublasLtMatmul", blas->matmul);
  find(library, "cublasLtMatmulAlgoCheck", blas->check_algorithm);
  find(library, "cublasLtMatmulAlgoGetHeuristic", blas->heuristic);
  find(library, "cublasLtMatmulDescCreate", blas->create_description);
  find(library, "cublasLtMatmulDescDestroy", blas->destroy_description);
  find(library, "cublasLtMatmulDescSetAttribute", blas->set_description);
  find(library, "cublasLtMatrixLayoutCreate", blas->create_layout);
  find(library, "cublasLtMatrixLayoutDestroy", blas->destroy_layout);
  find(library, "cublasLtMatmulPreferenceCreate", blas->create_preference);
  find(library, "cublasLtMatmulPreferenceDestroy", blas->destroy_preference);
  find(library, "cublasLtMatmulPreferenceSetAttribute", blas->set_preference);
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
