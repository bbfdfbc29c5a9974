// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend/copy_queue.h"
#include "kernels/backend/implementations.h"
#include "kernels/device/products.h"
#include "kernels/memory.h"

namespace weft {

enum class AttentionChoice : uint8_t;  // kernels/device/devices.h

// Operations that a device has captured, and queues again by one call.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void launch() = 0;
};

// One kind of device: its memory, its queue, its libraries' handles and its maths, behind Context. Only files of
// kernels/ check an operation's arguments, count its cost and call run() here.
class Backend {
 public:
  explicit Backend(const Implementations& implementations) : implementations_(implementations) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Bytes that run() works in, besides the tensors of its arguments.
  template <Operation Args>
  size_t workspace(const Args& args) const {
    const Implementation<Args>& implementation = implementations_;
    return implementation.workspace(*this, args);
  }
  // The arguments have been checked.
  template <Operation Args>
  void run(const Args& args, Scratch scratch) {
    const Implementation<Args>& implementation = implementations_;
    implementation.run(*this, args, scratch);
  }
  virtual std::shared_ptr<Allocator> allocator() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> fingerprint() const = 0;
  virtual int64_t vocabulary_multiple() const = 0;
  virtual LogitsChunk logits_chunk() const = 0;
  // For devices that choose among algorithms, as kernels/device/tuning.h describes.
  virtual void set_products(const ProductOptions&) {}
  virtual std::string tuned() const { return {}; }
  virtual void take_tuned(const std::string& /*text*/, const std::string& /*from*/) {}
  virtual std::string newly_tuned() const { return {}; }
  virtual int agree_tuned(std::span<const std::string> /*texts*/) { return 0; }
  // For a device with more than one implementation of attention.
  virtual void choose_attention(AttentionChoice) {}
  // Copies between host memory and a tensor of this device. upload() has read the host's bytes when it returns;
  // download() waits for everything that was queued before.
  virtual void upload(std::span<const std::byte> from, const Tensor& to) = 0;
  virtual void download(const Tensor& from, std::span<std::byte> to) = 0;
  // Waits until all queued operations are done. A backend whose calls return when they are done queues none.
  virtual void finish() {}
  // The size of a packed weight. The weight is f64 if the format is Own.
  virtual size_t packed_bytes(int64_t out, int64_t in, WeightFormat format) const = 0;
  // Queues for copies beside operations: uploads of what later operations read, and snapshots of what they will
  // overwrite. Null if there is no such queue: then upload() and download() copy.
  virtual CopyQueue* uploads_ahead() { return nullptr; }
  virtual CopyQueue* snapshots() { return nullptr; }
  // For a device with graphs. capture() calls `queue` and keeps the operations that it queues instead of running them.
  virtual bool has_graphs() const { return false; }
  virtual std::unique_ptr<DeviceGraph> capture(const std::function<void()>& /*queue*/) {
    throw InternalError("this device has no graphs");
  }
  // Allocates the host memory that snapshots are copied to.
  virtual std::shared_ptr<Allocator> host_memory() const { return host_allocator(); }

 private:
  const Implementations implementations_;
};

}  // namespace weft
