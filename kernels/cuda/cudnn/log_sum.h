// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// [heads, sequences, rows] -> [sequences, heads, rows]
void pack_log_sum(const Stream& stream, const float* from, int64_t heads, int64_t sequences, int64_t rows, float* to);

}  // namespace weft::cuda
