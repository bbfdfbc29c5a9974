// Operations that are not there yet.
#include "kernels/cuda/cuda_backend.h"

namespace weft::cuda {
namespace {

[[noreturn]] void pending(const char* operation) {
  throw InternalError(fmt::format("{} is not there on CUDA", operation));
}

}  // namespace

// elementwise
void CudaBackend::run(const AddRow&, Scratch) { pending("AddRow"); }
void CudaBackend::run(const AddScaled&, Scratch) { pending("AddScaled"); }
void CudaBackend::run(const Convert&, Scratch) { pending("Convert"); }
void CudaBackend::run(const GatherRows&, Scratch) { pending("GatherRows"); }
void CudaBackend::run(const JoinColumns&, Scratch) { pending("JoinColumns"); }

// embed
void CudaBackend::run(const AddPositionsBackward&, Scratch) { pending("AddPositionsBackward"); }
void CudaBackend::run(const AddPositionsForward&, Scratch) { pending("AddPositionsForward"); }
void CudaBackend::run(const EmbedBackward&, Scratch) { pending("EmbedBackward"); }
void CudaBackend::run(const EmbedForward&, Scratch) { pending("EmbedForward"); }

// optimizer
void CudaBackend::run(const AdamUpdate&, Scratch) { pending("AdamUpdate"); }
void CudaBackend::run(const SgdUpdate&, Scratch) { pending("SgdUpdate"); }

// reduction
void CudaBackend::run(const SquareSum&, Scratch) { pending("SquareSum"); }
void CudaBackend::run(const SumAll&, Scratch) { pending("SumAll"); }
void CudaBackend::run(const SumRows&, Scratch) { pending("SumRows"); }

// cross_entropy
void CudaBackend::run(const CrossEntropy&, Scratch) { pending("CrossEntropy"); }
void CudaBackend::run(const CrossEntropyGradient&, Scratch) { pending("CrossEntropyGradient"); }
void CudaBackend::run(const CrossEntropyLoss&, Scratch) { pending("CrossEntropyLoss"); }
void CudaBackend::run(const CrossEntropyRebase&, Scratch) { pending("CrossEntropyRebase"); }
void CudaBackend::run(const CrossEntropyStats&, Scratch) { pending("CrossEntropyStats"); }

// residual_norm
void CudaBackend::run(const ResidualNormBackward&, Scratch) { pending("ResidualNormBackward"); }
void CudaBackend::run(const ResidualNormForward&, Scratch) { pending("ResidualNormForward"); }

// linear
void CudaBackend::run(const Activate&, Scratch) { pending("Activate"); }
void CudaBackend::run(const LinearBackward&, Scratch) { pending("LinearBackward"); }
void CudaBackend::run(const LinearForward&, Scratch) { pending("LinearForward"); }
void CudaBackend::run(const Matmul&, Scratch) { pending("Matmul"); }
void CudaBackend::run(const PackWeight&, Scratch) { pending("PackWeight"); }

size_t CudaBackend::packed_bytes(int64_t, int64_t, WeightFormat) const { pending("PackWeight"); }

}  // namespace weft::cuda
