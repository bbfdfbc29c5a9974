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
      allocator_(device_allocator(device)),
      host_memory_(pinned_allocator(device)),
      uploads_(stream_),
      snapshots_(stream_) {}

CudaBackend::~CudaBackend() = default;

std::vector<std::pair<std::string, std::string>> CudaBackend::fingerprint() const {
  std::vector<std::pair<std::string, std::string>> all{{"device", device_name(stream_.device())},
                                                       {"runtime", runtime_version()},
                                                       {"matmul", matmul_.library()},
                                                       {"algorithms", matmul_.choices()},
                                                       {"attention", library_attention_->name()}};
  if (matmul_.options().tf32) all.emplace_back("tf32", "yes");
  return all;
}

// Tiles of tensor cores are up to 128 wide.
int64_t CudaBackend::vocabulary_multiple() const { return 128; }

void CudaBackend::choose_attention(AttentionChoice choice) { library_attention_->choose(choice); }

void CudaBackend::upload(std::span<const std::byte> from, const Tensor& to) { staging_.upload(from, to.device_raw()); }

void CudaBackend::download(const Tensor& from, std::span<std::byte> to) { staging_.download(from.device_raw(), to); }

}  // namespace weft::cuda
