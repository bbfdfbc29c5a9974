// SPDX-License-Identifier: Apache-2.0
#include "kernels/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/runtime/stream.h"
#include "kernels/cuda/runtime/stream_count.h"
#include "kernels/device/queue.h"

namespace weft {
namespace cuda {
namespace {

class CudaMark : public DeviceQueue::Mark {
 public:
  explicit CudaMark(const Stream& stream) : event_(stream.device()) { stream.record(event_); }
  bool passed() override {
    const cudaError_t answer = cudaEventQuery(event_.get());
    if (answer == cudaErrorNotReady) return false;
    check(answer, "asking for an event");
    return true;
  }
  const Event& event() const { return event_; }

 private:
  Event event_;
};

// The queue of collectives. Their few blocks would otherwise wait behind a product's hundreds, while other ranks wait
// for them. Events order streams: one is recorded in the stream that comes first, and the other stream waits for it. A
// wait refers to the mark as it is when the wait is queued, so an event may be recorded again at once.
class CudaQueue : public DeviceQueue {
 public:
  explicit CudaQueue(const Stream& operations)
      : operations_(operations),
        stream_(operations.device(), Stream::Priority::High),
        queued_(operations.device()),
        count_(operations.device()) {}

  void* handle() override {
    select_device(stream_.device());
    return stream_.get();
  }
  void follow_operations() override {
    operations_.record(queued_);
    stream_.wait(queued_);
  }
  std::unique_ptr<Mark> mark() override { return std::make_unique<CudaMark>(stream_); }
  void hold_operations_until(const Mark& mark) override {
    operations_.wait(dynamic_cast<const CudaMark&>(mark).event());
  }
  void count_up() override { count_.up(stream_); }
  std::shared_ptr<const std::atomic<uint64_t>> count() const override { return count_.number(); }

 private:
  const Stream& operations_;
  Stream stream_;
  Event queued_;
  StreamCount count_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<DeviceQueue> make_device_queue(Context& context) {
  const auto* backend = context.meta() ? nullptr : dynamic_cast<const cuda::CudaBackend*>(&context.backend());
  require<InternalError>(backend != nullptr, "no CUDA device: it has no queue beside the calling thread");
  return std::make_unique<cuda::CudaQueue>(backend->stream());
}

}  // namespace weft
