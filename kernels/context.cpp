// SPDX-License-Identifier: Apache-2.0
#include "kernels/context.h"

#include "base/error.h"
#include "kernels/backend/backend.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/products/matmul.h"
#include "kernels/device/devices.h"

namespace weft {

Ledger::Entry& Ledger::entry(std::string_view operation, OperationKind kind) {
  auto at = entries_.find(operation);
  if (at == entries_.end()) at = entries_.emplace(operation, Entry(kind, {})).first;
  require<InternalError>(at->second.kind == kind, "{} is recorded with two kinds of operation", operation);
  return at->second;
}

void Ledger::record(std::string_view operation, OperationKind kind, const Sums& cost) {
  entry(operation, kind) += cost;
}

void Ledger::record_parts(std::string_view operation, OperationKind kind, const OperationParts& parts) {
  for (const auto& [part, count] : parts) entry(operation, kind).parts[part] += count;
}

Ledger::Sums& Ledger::Sums::operator+=(const Sums& other) {
  calls += other.calls, flops += other.flops, bytes += other.bytes, seconds += other.seconds, moved += other.moved;
  return *this;
}

void Ledger::add(const Ledger& other) {
  for (const auto& [name, entry] : other.entries_) {
    record(name, entry.kind, entry);
    record_parts(name, entry.kind, entry.parts);
  }
}

Ledger::Sums Ledger::total() const {
  Sums sum;
  for (const auto& [name, entry] : entries_) sum += entry;
  return sum;
}

namespace {

// The backend of a device; for the dry device, the CPU's backend, which it plans for.
std::unique_ptr<Backend> make_backend(Device device, int threads, std::optional<CpuLevel> level) {
  if (device.kind == DeviceKind::Cuda) return make_cuda_backend(device.index);
  require<InternalError>(device.kind == DeviceKind::Cpu || device.kind == DeviceKind::Meta,
                         "a guarded device needs its own backend");
  return cpu::make_cpu_backend(threads, level);
}

}  // namespace

Context::Context(Device device, int threads, std::optional<CpuLevel> level)
    : Context(threads, make_backend(device, threads, level), device.kind == DeviceKind::Meta) {}

Context::Context(int threads, std::unique_ptr<Backend> backend, bool dry, MemoryPool::GivesBack pooling)
    : threads_(threads),
      dry_(dry),
      backend_(std::move(backend)),
      pool_(dry ? std::make_shared<MemoryPool>(planned_allocator(backend_->allocator()))
                : std::make_shared<MemoryPool>(backend_->allocator(), pooling)) {}

Context::~Context() = default;

Tensor Context::empty(Shape shape, DType dtype) {
  return {pool_->allocate(static_cast<size_t>(shape.elements()) * size_of(dtype)), 0, shape, dtype};
}

Tensor Context::zeros(Shape shape, DType dtype) {
  Tensor t = empty(shape, dtype);
  if (!meta()) backend_->run(Fill{t, 0}, {});
  return t;
}

std::vector<std::pair<std::string, std::string>> Context::fingerprint() const {
  auto all = backend_->fingerprint();
  // Without either, chunks are those that checkpoints without this entry were trained with.
  const LogitsChunk chunk = logits_chunk();
  if (logits_chunk_bytes_ > 0 || chunk.row_step > 1) {
    all.emplace_back("logits", fmt::format("chunks of {} bytes", chunk.most_bytes));
  }
  return all;
}

Device Context::planned_device() const { return backend_->allocator()->device(); }

void Context::finish() {
  if (!meta()) backend_->finish();
}

int64_t Context::vocabulary_multiple() const { return backend_->vocabulary_multiple(); }

LogitsChunk Context::logits_chunk() const {
  LogitsChunk chunk = backend_->logits_chunk();
  if (logits_chunk_bytes_ > 0) chunk.least_bytes = chunk.most_bytes = logits_chunk_bytes_;
  return chunk;
}

void choose_attention(Context& context, AttentionChoice choice) { context.backend().choose_attention(choice); }

std::string matmul_library() { return cpu::MatmulEngine::library(); }
std::string compiled_matmul_library() { return cpu::MatmulEngine::compiled_library(); }
bool emulates_bf16() { return cpu::MatmulEngine(1).emulates_bf16(); }

}  // namespace weft
