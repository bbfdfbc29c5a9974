// Operations that are not there yet.
#include "kernels/cuda/cuda_backend.h"

namespace weft::cuda {
namespace {

[[noreturn]] void pending(const char* operation) {
  throw InternalError(fmt::format("{} is not there on CUDA", operation));
}

}  // namespace

// cross_entropy
void CudaBackend::run(const CrossEntropy&, Scratch) { pending("CrossEntropy"); }
void CudaBackend::run(const CrossEntropyGradient&, Scratch) { pending("CrossEntropyGradient"); }
void CudaBackend::run(const CrossEntropyLoss&, Scratch) { pending("CrossEntropyLoss"); }
void CudaBackend::run(const CrossEntropyRebase&, Scratch) { pending("CrossEntropyRebase"); }
void CudaBackend::run(const CrossEntropyStats&, Scratch) { pending("CrossEntropyStats"); }

}  // namespace weft::cuda
