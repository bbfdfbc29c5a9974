// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "base/error.h"
#include "kernels/cuda/cudnn/attention_windows.h"
#include "kernels/cuda/runtime/stream.h"

struct cudnnContext;  // what cuDNN's handles point to

namespace weft::cuda {

// cuDNN is not there, or does not do what it is asked for; what() says why, in its own words where it has any.
class CudnnRefusal : public DeviceError {
  using DeviceError::DeviceError;
};

// The tensors of one call where their first head begins; null where the call has none. All are bf16 but log_sum, which
// is f32: [heads, rows] that forward writes, [sequences, heads, rows of a sequence] that backward reads.
struct AttentionPointers {
  void *query = nullptr, *key = nullptr, *value = nullptr;
  void* out = nullptr;
  void* log_sum = nullptr;
  void* dout = nullptr;
  void *dquery = nullptr, *dkey = nullptr, *dvalue = nullptr;
};

// One attention that a library has agreed to compute.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  virtual size_t workspace() const = 0;
  // Queues it on the stream that the plan was built for. CudnnRefusal if it cannot be.
  virtual void run(const AttentionPointers& pointers, void* workspace) = 0;
};

class AttentionPlans {
 public:
  virtual ~AttentionPlans() = default;
  virtual std::string name() const = 0;  // "cuDNN 9.19.0"
  // CudnnRefusal where the library does not agree.
  virtual std::unique_ptr<AttentionPlan> build(const AttentionWindows& windows) = 0;
};

// cuDNN's plans for a stream. Its libraries have hundreds of megabytes and are opened here, for no process that does
// not ask. CudnnRefusal where there is none, or none that works.
std::unique_ptr<AttentionPlans> open_cudnn(const Stream& stream);
// "cuDNN 9.19.0", of the library that would be opened. CudnnRefusal where there is none.
std::string cudnn_version();

// What a plan of cuDNN is built for: the device of a handle, or, without a handle, one that is described in JSON as
// cuDNN itself describes devices (from version 9.8 on); it cannot be run then.
struct CudnnTarget {
  cudnnContext* handle = nullptr;
  int capability = 0;  // 90: sm_90
  std::string description;
};

// Backward takes the algorithm whose sums have one order. cudnn_version() has found the library before. CudnnRefusal
// where cuDNN does not agree.
std::unique_ptr<AttentionPlan> build_cudnn_plan(const AttentionWindows& windows, const CudnnTarget& target);

}  // namespace weft::cuda
