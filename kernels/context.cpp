#include "kernels/context.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
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

// Sizes are rounded to eighths of a power of two; large ones, weights and moments among them, to 512 KiB.
size_t size_class(size_t bytes) {
  const size_t least = std::max<size_t>(bytes, 512);
  const size_t step = std::clamp<size_t>(std::bit_floor(least) / 8, kAlignment, size_t{512} << 10);
  return (least + step - 1) / step * step;
}

// The largest kept block that may serve a request: steps of ragged text, whose shapes always differ, reuse each other's
// blocks, and a block lent out wastes at most a half of what was asked for.
size_t largest_fit(size_t size) { return size + size / 2; }
}  // namespace

struct MemoryPool::Blocks {
  std::mutex mutex;
  std::map<size_t, std::vector<void*>> free;  // by their sizes; no list is empty
  std::unordered_map<void*, size_t> sizes;    // of all blocks, lent and free
  MemoryUse use;

  ~Blocks() { release(); }
  void* pop(std::map<size_t, std::vector<void*>>::iterator at) {
    void* block = at->second.back();
    at->second.pop_back();
    use.cached -= at->first;
    if (at->second.empty()) free.erase(at);
    return block;
  }
  // Before a new block is made: a free one that is a little too small goes, so that blocks grow and do not add up.
  void make_way_for(size_t size) {
    auto at = free.lower_bound(size);
    if (at == free.begin() || largest_fit((--at)->first) < size) return;
    void* block = pop(at);
    sizes.erase(block);
    std::free(block);
  }
  // Gives the blocks kept for reuse back to the system.
  void release() {
    for (auto& [size, list] : free) {
      for (void* block : list) sizes.erase(block), std::free(block);
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
    const size_t whole = self->blocks_->sizes.at(block);
    self->blocks_->free[whole].push_back(block);
    self->blocks_->use.cached += whole;
  });
}

void* MemoryPool::take(size_t size) {
  const std::lock_guard lock(blocks_->mutex);
  auto& free = blocks_->free;
  if (const auto at = free.lower_bound(size); at != free.end() && at->first <= largest_fit(size)) {
    return blocks_->pop(at);
  }
  blocks_->make_way_for(size);
  void* block = std::aligned_alloc(kAlignment, size);
  if (!block) {
    blocks_->release();
    block = std::aligned_alloc(kAlignment, size);
  }
  require<MemoryError>(block, "out of memory: {} bytes asked for, {} in use", size, blocks_->use.now);
  blocks_->sizes.emplace(block, size);
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

CostScope::CostScope(Context& context, const char* name, double flops, double bytes)
    : context_(context), name_(name), flops_(flops), bytes_(bytes) {
  if (context_.timed()) start_ = std::chrono::steady_clock::now();
}

CostScope::~CostScope() {
  const double seconds = context_.timed() ? seconds_since(start_) : 0;
  context_.ledger().record(name_, flops_, bytes_, seconds);
  context_.note_progress();
}

std::string matmul_library() { return cpu::MatmulEngine::library(); }
std::string compiled_matmul_library() { return cpu::MatmulEngine::compiled_library(); }
bool emulates_bf16() { return cpu::MatmulEngine(1).emulates_bf16(); }

}  // namespace weft
