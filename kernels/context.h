// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ledger.h"
#include "kernels/memory.h"
#include "kernels/tensor.h"

namespace weft {

class Backend;  // kernels/backend/backend.h: one kind of device, its memory and its maths; for this room alone

// One device as one rank sees it: its backend, memory, the rank's host threads, the cost ledger.
// Every operation takes it first. Not shared between rank threads.
class Context {
 public:
  // The CPU, a CUDA device, or the dry device that plans for the CPU.
  explicit Context(Device device = {}, int threads = 1);
  // Any device; `dry`: only its plan, on the dry device.
  Context(int threads, std::unique_ptr<Backend> backend, bool dry = false);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return pool_->device(); }
  // The device that the dry device plans for; any other context's own.
  Device planned_device() const;
  bool meta() const { return dry_; }
  int threads() const { return threads_; }
  Tensor empty(Shape shape, DType dtype);  // contents undefined
  Tensor zeros(Shape shape, DType dtype);
  MemoryPool& memory() { return *pool_; }
  Ledger& ledger() { return ledger_; }
  Backend& backend() { return *backend_; }  // on the dry device: of the device that it plans for
  // What the results of this device depend on besides the program and its input, by name: {"matmul", "oneDNN 2.6.3
  // avx512_core_bf16"}.
  std::vector<std::pair<std::string, std::string>> fingerprint() const;
  // The vocabulary's rows on each rank are padded in memory to a multiple of it, which products like.
  int64_t vocabulary_multiple() const;
  // Waits for the device: what is measured ends with it. Training never needs it.
  void finish();
  // Times each operation into the ledger, the wait for its end included (off by default).
  void time_operations(bool on) { timed_ = on; }
  bool timed() const { return timed_; }
  // `signal` is called at the end of every operation, and by any code that works long without one: a checkpoint's
  // writer. It must be cheap, and callable from any thread. For the start, before there are others.
  void on_progress(std::function<void()> signal) { on_progress_ = std::move(signal); }
  void note_progress() const {
    if (on_progress_) on_progress_();
  }

 private:
  friend class OperationGraph;  // has memory and costs of its own while it is made

  int threads_;
  bool dry_;
  bool timed_ = false;
  std::function<void()> on_progress_;
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<MemoryPool> pool_;
  std::weak_ptr<MemoryPool> graph_pool_;  // of all graphs, while there are any
  Ledger ledger_;
};

// The library of the CPU's matrix products with version and instruction set: "oneDNN 2.6.3 avx512_core_bf16"; the
// version whose headers this was compiled with; and whether this processor has no bf16 products, so that they are
// emulated by rounding.
std::string matmul_library();
std::string compiled_matmul_library();
bool emulates_bf16();

}  // namespace weft
