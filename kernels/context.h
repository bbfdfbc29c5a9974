// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/cpu_level.h"
#include "kernels/ledger.h"
#include "kernels/memory.h"
#include "kernels/tensor.h"
#include "kernels/trace.h"

namespace weft {

// How many rows of the output layer's logits are computed at once. Their gradients are added chunk by chunk, so it
// decides the order of sums.
struct LogitsChunk {
  int64_t least_bytes, most_bytes;
  int64_t row_step;  // rows are a multiple of it if there are as many
};

class Backend;  // kernels/backend/backend.h, private to kernels/

// The resources that one rank computes with: the backend of its device, the device's memory, the rank's host threads,
// the cost ledger. A context is the first argument of every operation. Rank threads do not share a context.
class Context {
 public:
  // Makes a context for the CPU, for a CUDA device, or for the dry device that plans for the CPU. All contexts of a
  // process compute at one level on the CPU: the one that the first of them names, or processor_level().
  explicit Context(Device device = {}, int threads = 1, std::optional<CpuLevel> level = std::nullopt);
  // Makes a context for any backend's device; if `dry`, for the dry device that plans for it.
  Context(int threads, std::unique_ptr<Backend> backend, bool dry = false,
          MemoryPool::GivesBack pooling = pooling_asked_for());
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return pool_->device(); }
  // The device that the dry device plans for; for any other context, its own device.
  Device planned_device() const;
  bool meta() const { return dry_; }
  int threads() const { return threads_; }
  Tensor empty(Shape shape, DType dtype);  // uninitialised
  Tensor zeros(Shape shape, DType dtype);
  MemoryPool& memory() { return *pool_; }
  Ledger& ledger() { return ledger_; }
  Backend& backend() { return *backend_; }  // the dry device returns the backend that it plans for
  // Names and values of everything that results depend on besides the program and its input: {"matmul", "oneDNN 2.6.3
  // avx512_core_bf16"}.
  std::vector<std::pair<std::string, std::string>> fingerprint() const;
  // Each rank pads its rows of the vocabulary in memory to a multiple of this, which makes matrix products faster.
  int64_t vocabulary_multiple() const;
  // The device's, or what set_logits_chunk() asked for.
  LogitsChunk logits_chunk() const;
  // Call it before the first loss. 0 means the device's.
  void set_logits_chunk(int64_t bytes) { logits_chunk_bytes_ = bytes; }
  // Waits for the device, at the end of a measurement. Training never calls it.
  void finish();
  // Whether each operation waits for its end and adds its seconds to the ledger (off by default).
  void time_operations(bool on) { timed_ = on; }
  bool timed() const { return timed_; }
  // What this rank does when: off until it is started.
  Trace& trace() { return trace_; }
  // `signal` is called at the end of every operation, and by code that works for a long time without one, such as a
  // checkpoint's writer. It must be cheap and callable from any thread. Set it before other threads start.
  void on_progress(std::function<void()> signal) { on_progress_ = std::move(signal); }
  void note_progress() const {
    if (on_progress_) on_progress_();
  }

 private:
  friend class OperationGraph;  // replaces memory and ledger while it captures

  int threads_;
  bool dry_;
  bool timed_ = false;
  int64_t logits_chunk_bytes_ = 0;
  std::function<void()> on_progress_;
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<MemoryPool> pool_;
  std::weak_ptr<MemoryPool> graph_pool_;  // shared by the graphs of this context
  Ledger ledger_;
  Trace trace_{*this};
};

// The library of the CPU's matrix products with version and instruction set: "oneDNN 2.6.3 avx512_core_bf16".
std::string matmul_library();
// The version of the headers that this program was compiled with.
std::string compiled_matmul_library();
// True if this processor has no bf16 products: weft emulates them by rounding.
bool emulates_bf16();

}  // namespace weft
