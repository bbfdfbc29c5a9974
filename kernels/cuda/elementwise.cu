#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/types.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/elementwise.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void fill_elements(T* to, int64_t n, T value) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) to[i] = value;
}

template <class T>
void fill_with(const Stream& stream, T* to, int64_t n, T value) {
  launch(stream, fill_elements<T>, blocks_for(n, kThreads), kThreads, 0, to, n, value);
}

}  // namespace

void CudaBackend::run(const Fill& args, Scratch) {
  const int64_t n = args.t.elements();
  switch (args.t.dtype()) {
    case DType::F32:
      return fill_with(stream_, args.t.device_data<float>(), n, static_cast<float>(args.value));
    case DType::BF16:
      return fill_with(stream_, reinterpret_cast<uint16_t*>(args.t.device_data<BFloat16>()), n,
                       BFloat16(static_cast<float>(args.value)).bits);
    case DType::F64:
      return fill_with(stream_, args.t.device_data<double>(), n, args.value);
    case DType::I32:
      return fill_with(stream_, args.t.device_data<int32_t>(), n, static_cast<int32_t>(args.value));
    case DType::I64:
      return fill_with(stream_, args.t.device_data<int64_t>(), n, static_cast<int64_t>(args.value));
  }
}

}  // namespace weft::cuda
