// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/device/stopwatch.h"

namespace weft {
namespace cuda {
namespace {

class StreamStopwatch : public DeviceStopwatch {
 public:
  explicit StreamStopwatch(const Stream& stream) : stream_(stream) {}

  void start() override {
    if (stream_.capturing()) return;  // such a mark would belong to the graph, and could not be timed
    stretches_.push_back({mark(), nullptr});
  }
  void stop() override {
    if (!stream_.capturing()) stretches_.back().end = mark();
  }
  void reset() override { stretches_.clear(); }
  double take() override {
    double milliseconds = 0;
    for (const Stretch& stretch : stretches_) milliseconds += stretch.end->milliseconds_since(*stretch.begin);
    reset();
    return 1e-3 * milliseconds;
  }

 private:
  struct Stretch {
    std::unique_ptr<Event> begin, end;
  };
  std::unique_ptr<Event> mark() const {
    auto made = std::make_unique<Event>(stream_.device(), Event::Kind::Time);
    stream_.record(*made);
    return made;
  }

  const Stream& stream_;
  std::vector<Stretch> stretches_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<DeviceStopwatch> make_device_stopwatch(Context& context) {
  const auto* backend = context.meta() ? nullptr : dynamic_cast<const cuda::CudaBackend*>(&context.backend());
  return backend ? std::make_unique<cuda::StreamStopwatch>(backend->stream()) : nullptr;
}

}  // namespace weft
