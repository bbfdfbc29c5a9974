// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend/backend.h"
#include "kernels/cpu/host_copies.h"
#include "kernels/cpu/products/matmul.h"

namespace weft::cpu {

// The processor: oneDNN for matrix products, OpenMP and vectorised loops for the rest. Every call is done when it
// returns: the calling thread is the queue.
class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads, std::shared_ptr<Allocator> allocator = host_allocator());

  std::shared_ptr<Allocator> allocator() const override { return allocator_; }
  std::vector<std::pair<std::string, std::string>> fingerprint() const override;
  int64_t vocabulary_multiple() const override;
  LogitsChunk logits_chunk() const override;
  void upload(std::span<const std::byte> from, const Tensor& to) override;
  void download(const Tensor& from, std::span<std::byte> to) override;
  size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const override;
  CopyQueue* snapshots() override { return &snapshots_; }
  MatmulEngine& matmul() { return matmul_; }

  // Specialised in the file of each operation, as kernels/backend/implementations.h describes.
  template <class Args>
  size_t workspace(const Args& args) const;
  template <class Args>
  void run(const Args& args, Scratch scratch);
  template <class Args>
  void run(const Args& args);

 private:
  void packed_linear(const LinearForward& args, Scratch scratch);

  int threads_;
  std::shared_ptr<Allocator> allocator_;
  MatmulEngine matmul_;
  HostCopies snapshots_;
};

}  // namespace weft::cpu
