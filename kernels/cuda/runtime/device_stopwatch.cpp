// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "kernels/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/device/stopwatch.h"

namespace weft {
namespace cuda {
namespace {

class StreamStopwatch : public DeviceStopwatch {
 public:
  explicit StreamStopwatch(CudaBackend& backend) : backend_(backend) {}

  void start() override {
    under_way_ = std::make_shared<Stretch>(stream().device());
    mark(under_way_->begin);
  }
  void stop() override {
    mark(under_way_->end);
    if (!stream().capturing()) return stretches_->push_back(std::move(under_way_));
    backend_.at_launches([stretch = std::move(under_way_), to = std::weak_ptr(stretches_)] {
      if (const auto stretches = to.lock()) stretches->push_back(stretch);
    });
  }
  void reset() override { stretches_->clear(); }
  double take() override {
    double milliseconds = 0;
    for (const auto& stretch : *stretches_) milliseconds += stretch->end.milliseconds_since(stretch->begin);
    reset();
    return 1e-3 * milliseconds;
  }

 private:
  // A captured one belongs to its graph, and each launch measures it.
  struct Stretch {
    explicit Stretch(int device) : begin(device, Event::Kind::Time), end(device, Event::Kind::Time) {}
    Event begin, end;
  };
  const Stream& stream() const { return backend_.stream(); }
  void mark(const Event& event) const {
    stream().capturing() ? stream().record_at_launches(event) : stream().record(event);
  }

  CudaBackend& backend_;
  std::shared_ptr<Stretch> under_way_;  // between start() and stop()
  std::shared_ptr<std::vector<std::shared_ptr<const Stretch>>> stretches_ =
      std::make_shared<std::vector<std::shared_ptr<const Stretch>>>();
};

}  // namespace
}  // namespace cuda

std::unique_ptr<DeviceStopwatch> make_device_stopwatch(Context& context) {
  auto* const backend = context.meta() ? nullptr : dynamic_cast<cuda::CudaBackend*>(&context.backend());
  return backend ? std::make_unique<cuda::StreamStopwatch>(*backend) : nullptr;
}

}  // namespace weft
