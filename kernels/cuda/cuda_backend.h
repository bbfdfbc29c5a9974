// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend/backend.h"
#include "kernels/cuda/products/matmul.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

class LibraryAttention;  // cudnn/attention.h

// An NVIDIA device. Operations are queued on one stream and run later: the host waits in download() alone. Copies that
// run beside them have streams of their own.
class CudaBackend : public Backend {
 public:
  explicit CudaBackend(int device);
  // For plans, without a device: it counts the workspace of operations, and runs none.
  CudaBackend();
  ~CudaBackend() override;

  std::shared_ptr<Allocator> allocator() const override { return allocator_; }
  std::vector<std::pair<std::string, std::string>> fingerprint() const override;
  int64_t vocabulary_multiple() const override;
  LogitsChunk logits_chunk() const override;
  void set_products(const ProductOptions& options) override;
  std::string tuned() const override;
  void take_tuned(const std::string& text, const std::string& from) override;
  std::string newly_tuned() const override;
  int agree_tuned(std::span<const std::string> texts) override;
  void choose_attention(AttentionChoice choice) override;
  void upload(std::span<const std::byte> from, const Tensor& to) override;
  void download(const Tensor& from, std::span<std::byte> to) override;
  void finish() override;
  size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const override;
  CopyQueue* uploads_ahead() override;
  CopyQueue* snapshots() override;
  bool has_graphs() const override { return queues_ != nullptr; }
  std::unique_ptr<DeviceGraph> capture(const std::function<void()>& queue) override;
  std::shared_ptr<Allocator> host_memory() const override;
  const Stream& stream() const;
  // While a graph is captured: each of its launches calls `call`, on the host.
  void at_launches(std::function<void()> call) { at_launches_->push_back(std::move(call)); }

  // Specialised in the file of each operation, as kernels/backend/implementations.h describes.
  template <class Args>
  size_t workspace(const Args& args) const;
  template <class Args>
  void run(const Args& args, Scratch scratch);
  template <class Args>
  void run(const Args& args);

 private:
  struct Queues;

  void packed_linear(const LinearForward& args);
  Queues& queues() const;
  Queues& queues_with_host() const;  // for transfers and waits of the host, which a graph cannot hold
  MatmulEngine& matmul();
  LibraryAttention& attention();
  size_t library_workspace(const AttentionForward& args) const;
  size_t library_workspace(const AttentionBackward& args) const;

  std::vector<std::function<void()>>* at_launches_ = nullptr;  // of the graph that is captured
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<Queues> queues_;  // null: for plans only
};

}  // namespace weft::cuda
