// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/queue_clock.h"

#include "kernels/context.h"
#include "kernels/cuda/cuda_backend.h"

namespace weft {
namespace cuda {
namespace {

// The events of a trace are kept for the next one: making an event takes longer than recording it.
class StreamClock : public QueueClock {
 public:
  explicit StreamClock(const Stream& stream) : stream_(stream) {}

  void start() override {
    used_ = 0;
    record();
  }
  int64_t mark() override {
    if (stream_.capturing()) return -1;
    record();
    return static_cast<int64_t>(used_) - 2;  // the first event is the start
  }
  std::vector<double> stop() override {
    std::vector<double> seconds;
    for (size_t i = 1; i < used_; ++i) seconds.push_back(1e-3 * events_[i]->milliseconds_since(*events_.front()));
    used_ = 0;
    return seconds;
  }

 private:
  void record() {
    if (used_ == events_.size()) events_.push_back(std::make_unique<Event>(stream_.device(), Event::Kind::Time));
    stream_.record(*events_[used_++]);
  }

  const Stream& stream_;
  std::vector<std::unique_ptr<Event>> events_;
  size_t used_ = 0;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<QueueClock> make_queue_clock(Context& context) {
  const auto* backend = context.meta() ? nullptr : dynamic_cast<const cuda::CudaBackend*>(&context.backend());
  return backend ? std::make_unique<cuda::StreamClock>(backend->stream()) : nullptr;
}

}  // namespace weft
