// SPDX-License-Identifier: Apache-2.0
#include "kernels/transfer.h"

#include "base/log.h"
#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

// For destructors, which must not throw: the next operation reports a failed device too.
template <class Call>
void quietly(Call&& call) noexcept {
  try {
    call();
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
  }
}

// Returns the queue that copies of a tensor go through; null on the dry device.
CopyQueue* queue_of(const Context& context, CopyQueue* queue) { return context.meta() ? nullptr : queue; }

// Without a separate queue the upload goes through the queue of operations.
void upload_through(CopyQueue* queue, Context& context, std::span<const std::byte> from, const Tensor& to) {
  const Checks check(context, "upload");
  check.present("to", to);
  check.that(context.meta() || from.size() == to.bytes(), "{} bytes to {}", from.size(), to);
  const CostScope scope(context, {"upload", OperationKind::Memory, 0, static_cast<double>(to.bytes())});
  if (context.meta() || from.empty()) return;
  queue ? queue->upload(from, to) : context.backend().upload(from, to);
}

}  // namespace

void upload_bytes(Context& context, std::span<const std::byte> from, const Tensor& to) {
  upload_through(nullptr, context, from, to);
}

void download_bytes(Context& context, const Tensor& from, std::span<std::byte> to) {
  const Checks check(context, "download");
  check.present("from", from);
  check.that(context.meta() || to.size() == from.bytes(), "{} to {} bytes", from, to.size());
  const CostScope scope(context, {"download", OperationKind::Memory, 0, static_cast<double>(from.bytes())});
  if (!context.meta() && !to.empty()) context.backend().download(from, to);
}

UploadAhead::UploadAhead(Context& context, const Shape& shape, DType dtype)
    : context_(context), tensor_(context.empty(shape, dtype)) {
  // Operations queued before may still use the memory that the tensor has now.
  if (CopyQueue* queue = queue_of(context_, context_.backend().uploads_ahead())) queue->fork();
}

UploadAhead::~UploadAhead() {
  quietly([this] { arrive(); });
}

void UploadAhead::send(std::span<const std::byte> from) {
  upload_through(queue_of(context_, context_.backend().uploads_ahead()), context_, from, tensor_);
}

void UploadAhead::arrive() {
  if (CopyQueue* queue = queue_of(context_, context_.backend().uploads_ahead())) queue->join();
}

Snapshot::Snapshot(Context& context, std::span<const Tensor> from, std::span<const std::span<std::byte>> to)
    : context_(context) {
  const Checks check(context, "snapshot_copy");
  check.that(from.size() == to.size(), "{} tensors to {}", from.size(), to.size());
  CopyQueue* queue = queue_of(context, context.backend().snapshots());
  if (queue) queue->fork();
  for (size_t i = 0; i < from.size(); ++i) {
    check.present("from", from[i]);
    check.that(from[i].bytes() == to[i].size(), "{} to {} bytes", from[i], to[i].size());
    const CostScope scope(context, {"snapshot_copy", OperationKind::Memory, 0, static_cast<double>(from[i].bytes())});
    if (context.meta() || to[i].empty()) continue;
    queue ? queue->download(from[i], to[i]) : context.backend().download(from[i], to[i]);
  }
}

Snapshot::~Snapshot() {
  quietly([this] { wait(); });
}

void Snapshot::wait() {
  if (CopyQueue* queue = queue_of(context_, context_.backend().snapshots())) queue->wait();
}

std::shared_ptr<Allocator> snapshot_memory(Context& context) { return context.backend().host_memory(); }

void await_snapshots(Context& context) {
  if (CopyQueue* queue = queue_of(context, context.backend().snapshots())) queue->join();
}

}  // namespace weft
