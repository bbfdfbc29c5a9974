// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "base/error.h"
#include "kernels/cuda/cudnn/attention_windows.h"
#include "kernels/cuda/runtime/stream.h"

struct cudnnContext;  // what cuDNN's handles point to

namespace weft::cuda {

// cuDNN is missing or refuses a call; what() says why, in cuDNN's own words if it has any.
class CudnnRefusal : public DeviceError {
  using DeviceError::DeviceError;
};

// The tensors of one call, each at its first head; null if the call has no such tensor. All are bf16 except log_sum,
// which is f32: forward writes [heads, rows], backward reads [sequences, heads, rows of a sequence].
struct AttentionPointers {
  void *query = nullptr, *key = nullptr, *value = nullptr;
  void* out = nullptr;
  void* log_sum = nullptr;
  void* dout = nullptr;
  void *dquery = nullptr, *dkey = nullptr, *dvalue = nullptr;
};

// One call of attention that a library has agreed to compute.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  virtual size_t workspace() const = 0;
  // Queues the call on the plan's stream. Throws CudnnRefusal if it cannot.
  virtual void run(const AttentionPointers& pointers, void* workspace) = 0;
};

class AttentionPlans {
 public:
  virtual ~AttentionPlans() = default;
  virtual std::string name() const = 0;  // "cuDNN 9.19.0"
  // Throws CudnnRefusal if the library refuses.
  virtual std::unique_ptr<AttentionPlan> build(const AttentionWindows& windows) = 0;
};

// cuDNN's plans for a stream. This opens its libraries, hundreds of megabytes, which other processes do not load.
// Throws CudnnRefusal if cuDNN is missing or does not work.
std::unique_ptr<AttentionPlans> open_cudnn(const Stream& stream);
// "cuDNN 9.19.0", the version of the library that would be opened. Throws CudnnRefusal if there is no cuDNN.
std::string cudnn_version();

// The device a plan of cuDNN is built for: that of a handle, or, without a handle, a device described in JSON as cuDNN
// itself describes devices (from version 9.8); such a plan cannot run.
struct CudnnTarget {
  cudnnContext* handle = nullptr;
  int capability = 0;  // 90: sm_90
  std::string description;
};

// Backward takes the algorithm whose sums have one order. cudnn_version() must have found the library before. Throws
// CudnnRefusal if cuDNN refuses.
std::unique_ptr<AttentionPlan> build_cudnn_plan(const AttentionWindows& windows, const CudnnTarget& target);

}  // namespace weft::cuda
