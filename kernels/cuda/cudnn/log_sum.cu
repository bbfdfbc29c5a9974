// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/log_sum.h"
#include "kernels/cuda/runtime/launch.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    swap_heads_and_sequences(const float* from, int64_t heads, int64_t sequences, int64_t rows, float* to) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= heads * sequences * rows) return;
  const int64_t row = i % rows, head = i / rows % heads, sequence = i / rows / heads;
  to[i] = from[(head * sequences + sequence) * rows + row];
}

}  // namespace

void pack_log_sum(const Stream& stream, const float* from, int64_t heads, int64_t sequences, int64_t rows, float* to) {
  launch(stream, swap_heads_and_sequences, blocks_for(heads * sequences * rows, kThreads), kThreads, 0, from, heads,
         sequences, rows, to);
}

}  // namespace weft::cuda
