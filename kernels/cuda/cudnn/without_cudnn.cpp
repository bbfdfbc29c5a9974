// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention_plan.h"

namespace weft::cuda {

std::string cudnn_version() { throw CudnnRefusal("this weft is built without it"); }

std::unique_ptr<AttentionPlans> open_cudnn(const Stream&) { throw CudnnRefusal("this weft is built without it"); }

}  // namespace weft::cuda
