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
  void upload(std::span<const std::byte> from, const Tensor& to) override;
  void download(const Tensor& from, std::span<std::byte> to) override;
  size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const override;
  CopyQueue* snapshots() override { return &snapshots_; }
  MatmulEngine& matmul() { return matmul_; }

  using Backend::run;
  using Backend::workspace;
  void run(const Activate& args, Scratch) override;
  void run(const AddPositionsBackward& args, Scratch scratch) override;
  void run(const AddPositionsForward& args, Scratch scratch) override;
  void run(const AddRow& args, Scratch) override;
  void run(const AddScaled& args, Scratch) override;
  void run(const AdamUpdate& args, Scratch) override;
  void run(const AttentionBackward& args, Scratch scratch) override;
  void run(const AttentionForward& args, Scratch scratch) override;
  void run(const CachedAttention& args, Scratch scratch) override;
  void run(const ChooseTokens& args, Scratch scratch) override;
  void run(const Convert& args, Scratch) override;
  void run(const CrossEntropy& args, Scratch) override;
  void run(const CrossEntropyGradient& args, Scratch) override;
  void run(const CrossEntropyLoss& args, Scratch) override;
  void run(const CrossEntropyRebase& args, Scratch) override;
  void run(const CrossEntropyStats& args, Scratch) override;
  void run(const EmbedBackward& args, Scratch scratch) override;
  void run(const EmbedForward& args, Scratch scratch) override;
  void run(const Fill& args, Scratch) override;
  void run(const GatherRows& args, Scratch) override;
  void run(const JoinColumns& args, Scratch) override;
  void run(const LinearBackward& args, Scratch scratch) override;
  void run(const LinearForward& args, Scratch scratch) override;
  void run(const Matmul& args, Scratch) override;
  void run(const PackWeight& args, Scratch) override;
  void run(const ResidualNormBackward& args, Scratch scratch) override;
  void run(const ResidualNormForward& args, Scratch scratch) override;
  void run(const SgdUpdate& args, Scratch) override;
  void run(const SquareSum& args, Scratch scratch) override;
  void run(const SumAll& args, Scratch scratch) override;
  void run(const SumRows& args, Scratch scratch) override;

  size_t workspace(const AddPositionsBackward& args) const override;
  size_t workspace(const AddPositionsForward& args) const override;
  size_t workspace(const AttentionBackward& args) const override;
  size_t workspace(const AttentionForward& args) const override;
  size_t workspace(const CachedAttention& args) const override;
  size_t workspace(const ChooseTokens& args) const override;
  size_t workspace(const EmbedBackward& args) const override;
  size_t workspace(const EmbedForward& args) const override;
  size_t workspace(const LinearBackward& args) const override;
  size_t workspace(const LinearForward& args) const override;
  size_t workspace(const ResidualNormBackward& args) const override;
  size_t workspace(const ResidualNormForward& args) const override;
  size_t workspace(const SquareSum& args) const override;
  size_t workspace(const SumAll& args) const override;
  size_t workspace(const SumRows& args) const override;

 private:
  void packed_linear(const LinearForward& args, Scratch scratch);

  int threads_;
  std::shared_ptr<Allocator> allocator_;
  MatmulEngine matmul_;
  HostCopies snapshots_;
};

}  // namespace weft::cpu
