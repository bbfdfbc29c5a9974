// SPDX-License-Identifier: Apache-2.0
// Calls of communicators that do not block: the library takes such a call, and puts it into its stream later, while the
// program asks ncclCommGetAsyncError. How often it answers "in progress" before is drawn at random.
#pragma once

#include <nccl.h>

#include <functional>
#include <optional>
#include <utility>

namespace weft::cuda_device {

class UnderWay {
 public:
  using Step = std::function<std::optional<ncclResult_t>()>;  // std::nullopt: it has to be asked again
  UnderWay(unsigned answers, Step step) : answers_(answers), step_(std::move(step)) {}

  // ncclInProgress, or how the call has ended.
  ncclResult_t ask() {
    if (answers_ > 0) {
      --answers_;
      return ncclInProgress;
    }
    if (!result_) result_ = step_();
    return result_.value_or(ncclInProgress);
  }

 private:
  unsigned answers_;
  Step step_;
  std::optional<ncclResult_t> result_;
};

}  // namespace weft::cuda_device
