// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"

#include "base/error.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/runtime/captured_graph.h"
#include "kernels/cuda/runtime/copy_stream.h"
#include "kernels/cuda/runtime/device_allocator.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/staging.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {

// A device's queue of operations, the libraries that work on it, and the copies that run beside it.
struct CudaBackend::Queues {
  explicit Queues(int device)
      : stream(device),
        staging(stream),
        matmul(stream),
        attention(stream),
        host_memory(pinned_allocator(device)),
        uploads(stream),
        snapshots(stream) {}

  Stream stream;
  Staging staging;
  MatmulEngine matmul;
  LibraryAttention attention;
  std::shared_ptr<Allocator> host_memory;
  CopyStream uploads, snapshots;  // two, so that tokens do not wait behind a checkpoint
};

CudaBackend::CudaBackend(int device)
    : Backend(implementations_of<CudaBackend>()),
      allocator_(device_allocator(device)),
      queues_(std::make_unique<Queues>(device)) {}

CudaBackend::CudaBackend() : Backend(implementations_of<CudaBackend>()), allocator_(device_allocator(0)) {}

CudaBackend::~CudaBackend() = default;

CudaBackend::Queues& CudaBackend::queues() const {
  require<InternalError>(queues_ != nullptr, "a plan for a CUDA device cannot compute");
  return *queues_;
}
CudaBackend::Queues& CudaBackend::queues_with_host() const {
  require<InternalError>(!stream().capturing(),
                         "a graph cannot hold transfers that the host takes part in, or waits of the host");
  return queues();
}
const Stream& CudaBackend::stream() const { return queues().stream; }
MatmulEngine& CudaBackend::matmul() { return queues().matmul; }
LibraryAttention& CudaBackend::attention() { return queues().attention; }

std::vector<std::pair<std::string, std::string>> CudaBackend::fingerprint() const {
  const Queues& q = queues();
  std::vector<std::pair<std::string, std::string>> all{{"device", device_name(q.stream.device())},
                                                       {"runtime", runtime_version()},
                                                       {"matmul", q.matmul.library()},
                                                       {"algorithms", q.matmul.choices()},
                                                       {"attention", q.attention.name()}};
  if (q.matmul.options().tf32) all.emplace_back("tf32", "yes");
  return all;
}

int64_t CudaBackend::vocabulary_multiple() const { return tuning::kVocabularyMultiple; }

LogitsChunk CudaBackend::logits_chunk() const {
  return {.least_bytes = tuning::kLogitsBytes, .most_bytes = tuning::kLogitsBytes, .row_step = tuning::kLogitsRowStep};
}

// A plan has no libraries, so the choices of its job change nothing here.
void CudaBackend::set_products(const ProductOptions& options) {
  if (queues_) queues_->matmul.set_options(options);
}
void CudaBackend::choose_attention(AttentionChoice choice) {
  if (queues_) queues_->attention.choose(choice);
}

// A plan counts weft's own kernels: only the library itself knows its workspace.
size_t CudaBackend::library_workspace(const AttentionForward& args) const {
  return queues_ ? queues_->attention.workspace(args) : 0;
}
size_t CudaBackend::library_workspace(const AttentionBackward& args) const {
  return queues_ ? queues_->attention.workspace(args) : 0;
}

std::string CudaBackend::tuned() const { return queues().matmul.tuned(); }
void CudaBackend::take_tuned(const std::string& text, const std::string& from) {
  queues().matmul.take_tuned(text, from);
}

// A plan measures nothing.
std::string CudaBackend::newly_tuned() const { return queues_ ? queues_->matmul.newly_tuned() : std::string(); }
int CudaBackend::agree_tuned(std::span<const std::string> texts) { return queues().matmul.agree_tuned(texts); }

void CudaBackend::upload(std::span<const std::byte> from, const Tensor& to) {
  queues_with_host().staging.upload(from, to.device_raw());
}
void CudaBackend::download(const Tensor& from, std::span<std::byte> to) {
  queues_with_host().staging.download(from.device_raw(), to);
}
void CudaBackend::finish() { queues_with_host().stream.finish(); }

CopyQueue* CudaBackend::uploads_ahead() { return queues_ ? &queues_with_host().uploads : nullptr; }
CopyQueue* CudaBackend::snapshots() { return queues_ ? &queues_->snapshots : nullptr; }
std::unique_ptr<DeviceGraph> CudaBackend::capture(const std::function<void()>& queue) {
  std::vector<std::function<void()>> calls;
  at_launches_ = &calls;
  const auto ended =
      std::unique_ptr<CudaBackend, void (*)(CudaBackend*)>(this, [](CudaBackend* b) { b->at_launches_ = nullptr; });
  auto graph = std::make_unique<CapturedGraph>(stream(), queue);
  graph->at_launches(std::move(calls));
  return graph;
}
std::shared_ptr<Allocator> CudaBackend::host_memory() const { return queues().host_memory; }

}  // namespace weft::cuda
