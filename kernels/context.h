#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "kernels/ledger.h"
#include "kernels/tensor.h"

namespace weft {

namespace cpu {
class MatmulEngine;  // oneDNN's engine, stream and primitive cache
}

// The library of matrix products with version and instruction set, for the numerics fingerprint: "oneDNN 2.6.3
// avx512_core_bf16"; the version whose headers this was compiled with; and whether this processor has no bf16 products,
// so that they are emulated by rounding.
std::string matmul_library();
std::string compiled_matmul_library();
bool emulates_bf16();

struct MemoryUse {
  size_t now = 0;     // bytes held by live tensors
  size_t peak = 0;    // the largest `now` since reset_peak()
  size_t cached = 0;  // bytes kept for reuse
};

// Lends blocks of memory and takes them back for reuse: after the first steps a training step allocates nothing.
// Thread-safe, since a tensor may be released by a checkpoint's thread.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  explicit MemoryPool(Device device);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  std::shared_ptr<Storage> allocate(size_t bytes);
  MemoryUse use() const;
  void reset_peak();

 private:
  void* take(size_t size);  // a kept block of that size, or a new one

  struct Blocks;
  Device device_;
  std::unique_ptr<Blocks> blocks_;
};

// One device as one rank sees it: memory, threads, the vendor library's state, the cost ledger.
// Every operation takes it first. Not shared between rank threads.
class Context {
 public:
  explicit Context(Device device = {}, int threads = 1);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  bool meta() const { return device_.kind == DeviceKind::Meta; }
  int threads() const { return threads_; }
  Tensor empty(Shape shape, DType dtype);  // contents undefined
  Tensor zeros(Shape shape, DType dtype);
  MemoryPool& memory() { return *pool_; }
  Ledger& ledger() { return ledger_; }
  cpu::MatmulEngine& matmul() { return *matmul_; }
  // Times each operation on the host into the ledger (off by default: two clock reads an operation).
  void time_operations(bool on) { timed_ = on; }
  bool timed() const { return timed_; }
  // `signal` is called at the end of every operation, and by any code that works long without one: a checkpoint's
  // writer. It must be cheap, and callable from any thread. For the start, before there are others.
  void on_progress(std::function<void()> signal) { on_progress_ = std::move(signal); }
  void note_progress() const {
    if (on_progress_) on_progress_();
  }

 private:
  Device device_;
  int threads_;
  bool timed_ = false;
  std::function<void()> on_progress_;
  std::shared_ptr<MemoryPool> pool_;
  std::unique_ptr<cpu::MatmulEngine> matmul_;
  Ledger ledger_;
};

// Records one operation in the ledger when it goes out of scope. If `dry()`, the operation stops here.
class CostScope {
 public:
  CostScope(Context& context, const char* name, double flops, double bytes);
  ~CostScope();
  CostScope(const CostScope&) = delete;
  CostScope& operator=(const CostScope&) = delete;
  bool dry() const { return context_.meta(); }

 private:
  Context& context_;
  const char* name_;
  double flops_, bytes_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace weft
