#include "kernels/context.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/cpu/matmul.h"

namespace weft {

void Ledger::record(const char* operation, double flops, double bytes, double seconds) {
  auto at = entries_.find(std::string_view(operation));
  if (at == entries_.end()) at = entries_.emplace(operation, Entry{}).first;
  at->second.calls += 1;
  at->second.flops += flops;
  at->second.bytes += bytes;
  at->second.seconds += seconds;
}

void Ledger::record_collective(const std::string& name, double moved) {
  Entry& entry = entries_[name];
  entry.calls += 1;
  entry.moved += moved;
}

Ledger::Entry Ledger::total() const {
  Entry sum;
  for (const auto& [name, e] : entries_) {
    sum.calls += e.calls, sum.flops += e.flops, sum.bytes += e.bytes, sum.seconds += e.seconds;
    sum.moved += e.moved;
  }
  return sum;
}

namespace {
constexpr size_t kAlignment = 64;

// Sizes are rounded to eighths of a power of two, so that steps of slightly different shapes reuse each other's blocks.
size_t size_class(size_t bytes) {
  const size_t least = std::max<size_t>(bytes, 512);
  const size_t step = std::max<size_t>(std::bit_floor(least) / 8, kAlignment);
  return (least + step - 1) / step * step;
}
}  // namespace

struct MemoryPool::Blocks {
  std::mutex mutex;
  std::map<size_t, std::vector<void*>> free;
  MemoryUse use;

  ~Blocks() { release(); }
  // Gives the blocks kept for reuse back to the system.
  void release() {
    for (auto& [size, list] : free) {
      for (void* block : list) std::free(block);
    }
    free.clear();
    use.cached = 0;
  }
};

MemoryPool::MemoryPool(Device device) : device_(device), blocks_(std::make_unique<Blocks>()) {}

MemoryPool::~MemoryPool() = default;

std::shared_ptr<Storage> MemoryPool::allocate(size_t bytes) {
  const size_t size = size_class(bytes);
  void* block = device_.kind == DeviceKind::Cpu ? take(size) : nullptr;
  {
    const std::lock_guard lock(blocks_->mutex);
    blocks_->use.now += size;
    blocks_->use.peak = std::max(blocks_->use.peak, blocks_->use.now);
  }
  return std::make_shared<Storage>(block, bytes, device_, [self = shared_from_this(), block, size] {
    const std::lock_guard lock(self->blocks_->mutex);
    self->blocks_->use.now -= size;
    if (!block) return;
    self->blocks_->free[size].push_back(block);
    self->blocks_->use.cached += size;
  });
}

void* MemoryPool::take(size_t size) {
  const std::lock_guard lock(blocks_->mutex);
  if (const auto at = blocks_->free.find(size); at != blocks_->free.end() && !at->second.empty()) {
    void* block = at->second.back();
    at->second.pop_back();
    blocks_->use.cached -= size;
    return block;
  }
  void* block = std::aligned_alloc(kAlignment, size);
  if (!block) {
    blocks_->release();
    block = std::aligned_alloc(kAlignment, size);
  }
  require<InternalError>(block, "out of memory: {} bytes asked for, {} in use", size, blocks_->use.now);
  return block;
}

MemoryUse MemoryPool::use() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->use;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(blocks_->mutex);
  blocks_->use.peak = blocks_->use.now;
}

Context::Context(Device device, int threads)
    : device_(device),
      threads_(threads),
      pool_(std::make_shared<MemoryPool>(device)),
      matmul_(std::make_unique<cpu::MatmulEngine>(threads)) {
  require<InternalError>(device.kind != DeviceKind::Cuda, "this build has no CUDA device");
}

Context::~Context() = default;

Tensor Context::empty(Shape shape, DType dtype) {
  return {pool_->allocate(static_cast<size_t>(shape.elements()) * size_of(dtype)), 0, shape, dtype};
}

Tensor Context::zeros(Shape shape, DType dtype) {
  Tensor t = empty(shape, dtype);
  if (!meta()) std::memset(t.raw(), 0, t.bytes());
  return t;
}

Operation::Operation(Context& context, const char* name, double flops, double bytes)
    : context_(context), name_(name), flops_(flops), bytes_(bytes) {
  if (context_.timed()) start_ = std::chrono::steady_clock::now();
}

Operation::~Operation() {
  const double seconds =
      context_.timed() ? std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() : 0;
  context_.ledger().record(name_, flops_, bytes_, seconds);
}

}  // namespace weft
