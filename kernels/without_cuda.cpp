// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "kernels/backend/backend.h"
#include "kernels/device/devices.h"
#include "kernels/device/ids.h"
#include "kernels/device/queue.h"
#include "kernels/device/queue_clock.h"
#include "kernels/device/stopwatch.h"

namespace weft {

CudaDevices cuda_devices() { return {.why_none = "this weft is built without CUDA"}; }

std::string cudnn_text() { return "this weft is built without CUDA"; }

std::vector<std::string> cuda_device_ids() { return {}; }

std::vector<std::pair<int, int>> cuda_links() { return {}; }

std::unique_ptr<DeviceQueue> make_device_queue(Context&) { throw InternalError("this build has no CUDA device"); }

std::unique_ptr<DeviceStopwatch> make_device_stopwatch(Context&) { return nullptr; }

std::unique_ptr<QueueClock> make_queue_clock(Context&) { return nullptr; }

std::unique_ptr<Backend> make_cuda_backend(int) { throw InternalError("this build has no CUDA device"); }

std::unique_ptr<Backend> make_planned_cuda_backend() {
  throw ConfigError("cannot plan for a CUDA device: this weft is built without CUDA",
                    "rebuild it with -DWEFT_CUDA=ON (docs/installation.md)");
}

}  // namespace weft
