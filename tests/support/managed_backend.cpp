// SPDX-License-Identifier: Apache-2.0
#include "tests/support/managed_backend.h"

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/runtime/types.h"

namespace weft::test {
namespace {

// Reports that its memory is the CPU's: the host may follow its addresses.
class ManagedAllocator : public Allocator {
 public:
  explicit ManagedAllocator(std::shared_ptr<const Allocator> sizes) : sizes_(std::move(sizes)) {}
  Device device() const override { return {DeviceKind::Cpu}; }
  size_t block_size(size_t bytes) const override { return sizes_->block_size(bytes); }
  MemoryBlock allocate(size_t size) override {
    void* memory = nullptr;
    cuda::check(cudaMallocManaged(&memory, size, cudaMemAttachGlobal), "allocating managed memory");
    auto* address = static_cast<std::byte*>(memory);
    return {.address = address, .reach = address, .bytes = size};
  }
  void release(const MemoryBlock& block) noexcept override {
    cuda::check_quietly(cudaFree(block.address), "freeing managed memory");
  }

 private:
  std::shared_ptr<const Allocator> sizes_;
};

struct Devices {
  explicit Devices(int threads) : cpu(threads), device(0) {}
  cpu::CpuBackend cpu;
  cuda::CudaBackend device;
};

class ManagedBackend : public Backend {
 public:
  explicit ManagedBackend(int threads)
      : Backend(implementations_of<ManagedBackend>()),
        devices_(threads),
        allocator_(std::make_shared<ManagedAllocator>(devices_.device.allocator())) {}
  std::shared_ptr<Allocator> allocator() const override { return allocator_; }
  std::vector<std::pair<std::string, std::string>> fingerprint() const override {
    return devices_.device.fingerprint();
  }
  int64_t vocabulary_multiple() const override { return devices_.device.vocabulary_multiple(); }
  LogitsChunk logits_chunk() const override { return devices_.device.logits_chunk(); }
  void upload(std::span<const std::byte> from, const Tensor& to) override {
    devices_.device.upload(from, to);
    devices_.device.stream().finish();
  }
  void download(const Tensor& from, std::span<std::byte> to) override { devices_.device.download(from, to); }
  void finish() override { devices_.device.finish(); }
  size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const override {
    if (format == WeightFormat::Own) return devices_.cpu.packed_bytes(out, in, format);
    return devices_.device.packed_bytes(out, in, format);
  }
  template <class Args>
  size_t workspace(const Args& args) const {
    const Backend &cpu = devices_.cpu, &device = devices_.device;
    return std::max(cpu.workspace(args), device.workspace(args));
  }
  template <class Args>
  void run(const Args& args, Scratch scratch = {}) {
    Backend &cpu = devices_.cpu, &device = devices_.device;
    try {
      device.run(args, scratch);
    } catch (const cuda::UnsupportedType&) {
      cpu.run(args, scratch);
    }
    devices_.device.stream().finish();
  }

 private:
  Devices devices_;
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace

std::unique_ptr<Backend> managed_cuda_backend(int threads) { return std::make_unique<ManagedBackend>(threads); }

}  // namespace weft::test
