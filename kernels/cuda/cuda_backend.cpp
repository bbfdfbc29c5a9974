#include "kernels/cuda/cuda_backend.h"

#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/device_allocator.h"
#include "kernels/cuda/devices.h"

namespace weft::cuda {

CudaBackend::CudaBackend(int device)
    : stream_(device),
      staging_(stream_),
      matmul_(stream_),
      library_attention_(std::make_unique<LibraryAttention>(stream_)),
      allocator_(device_allocator(device)) {}

CudaBackend::~CudaBackend() = default;

std::vector<std::pair<std::string, std::string>> CudaBackend::fingerprint() const {
  return {{"device", device_name(stream_.device())},
          {"runtime", runtime_version()},
          {"matmul", matmul_.library()},
          {"attention", library_attention_->name()}};
}

// Tiles of tensor cores are up to 128 wide.
int64_t CudaBackend::vocabulary_multiple() const { return 128; }

void CudaBackend::choose_attention(AttentionChoice choice) { library_attention_->choose(choice); }

void CudaBackend::upload(std::span<const std::byte> from, const Tensor& to) { staging_.upload(from, to.device_raw()); }

void CudaBackend::download(const Tensor& from, std::span<std::byte> to) { staging_.download(from.device_raw(), to); }

}  // namespace weft::cuda
