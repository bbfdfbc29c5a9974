// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend/copy_queue.h"
#include "kernels/backend/scratch.h"
#include "kernels/device/products.h"
#include "kernels/memory.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/choose_tokens.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/optimizer.h"
#include "kernels/ops/reduction.h"
#include "kernels/ops/residual_norm.h"

namespace weft {

enum class AttentionChoice : uint8_t;  // kernels/device/devices.h

// What a device has been given once and queues again by one call.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void launch() = 0;
};

// One operation, as its argument struct tells it from the others.
template <class Args>
class Runs {
 public:
  virtual ~Runs() = default;
  // Bytes that run() works in, besides the tensors it is given.
  virtual size_t workspace(const Args&) const { return 0; }
  // Arguments have been checked.
  virtual void run(const Args& args, Scratch scratch) = 0;
};

template <class... Args>
class RunsAll : public Runs<Args>... {
 public:
  using Runs<Args>::workspace...;
  using Runs<Args>::run...;
};

// One kind of device: its memory, its queue, its libraries' handles and its maths, behind Context. Files of kernels/
// check an operation's arguments, count its cost and call run() here; nobody else does.
class Backend
    : public RunsAll<Activate, AddPositionsBackward, AddPositionsForward, AddRow, AddScaled, AdamUpdate,
                     AttentionBackward, AttentionForward, CachedAttention, ChooseTokens, Convert, CrossEntropy,
                     CrossEntropyGradient, CrossEntropyLoss, CrossEntropyRebase, CrossEntropyStats, EmbedBackward,
                     EmbedForward, Fill, GatherRows, JoinColumns, LinearBackward, LinearForward, Matmul, PackWeight,
                     ResidualNormBackward, ResidualNormForward, SgdUpdate, SquareSum, SumAll, SumRows> {
 public:
  virtual std::shared_ptr<Allocator> allocator() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> fingerprint() const = 0;
  virtual int64_t vocabulary_multiple() const = 0;
  // As kernels/device/tuning.h says, for devices that choose among algorithms.
  virtual void set_products(const ProductOptions&) {}
  virtual std::string tuned() const { return {}; }
  virtual void take_tuned(const std::string& /*text*/, const std::string& /*from*/) {}
  virtual std::string newly_tuned() const { return {}; }
  virtual int agree_tuned(std::span<const std::string> /*texts*/) { return 0; }
  // For a device that attention has more than one implementation for.
  virtual void choose_attention(AttentionChoice) {}
  // Between host memory and a tensor of this device. upload() has read the host's bytes when it returns; download()
  // waits for everything that was queued before.
  virtual void upload(std::span<const std::byte> from, const Tensor& to) = 0;
  virtual void download(const Tensor& from, std::span<std::byte> to) = 0;
  // Waits until all that was queued is done. Nothing is queued where every call is done when it returns.
  virtual void finish() {}
  // What a weight takes that is packed; format Own: f64.
  virtual size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const = 0;
  // Where copies can run beside operations: of what later operations read, and of what they will write over. Null:
  // upload() and download() are all there is.
  virtual CopyQueue* uploads_ahead() { return nullptr; }
  virtual CopyQueue* snapshots() { return nullptr; }
  // For a device that has graphs. capture() calls `queue`, and keeps what it queues instead of running it.
  virtual bool has_graphs() const { return false; }
  virtual std::unique_ptr<DeviceGraph> capture(const std::function<void()>& /*queue*/) {
    throw InternalError("this device has no graphs");
  }
  // The host's memory that snapshots are copied to.
  virtual std::shared_ptr<Allocator> host_memory() const { return host_allocator(); }
};

}  // namespace weft
