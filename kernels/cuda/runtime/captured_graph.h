// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <utility>
#include <vector>

#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// A graph of the work that `queue` puts into a stream, and into others that wait for it there; the stream must wait for
// those before `queue` returns. Throws DeviceError if some of the work cannot be captured.
class CapturedGraph : public DeviceGraph {
 public:
  CapturedGraph(const Stream& stream, const std::function<void()>& queue);
  ~CapturedGraph() override;
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch() override;
  // Each launch calls these then, on the host.
  void at_launches(std::vector<std::function<void()>> calls) { at_launches_ = std::move(calls); }

 private:
  const Stream& stream_;
  cudaGraphExec_t program_ = nullptr;
  std::vector<std::function<void()>> at_launches_;
};

}  // namespace weft::cuda
