// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/ops/attention.h"

namespace weft {

// The weights of one sequence under an attention that has run, for people to look at. `args` are those of
// attention_forward(), which has written log_sum; its out is not read. Returns f32 [heads, queries, keys]:
//   weight[h][i][j] = exp(scale q[h][i] . k[h][j] - log_sum[h][i]), 0 where the mask hides key j from query i
// before dropout, so that a query's weights sum to 1. No step of training needs these numbers, and attention never
// stores them: this downloads the heads' rows of any device, and computes by the formula on the host.
std::vector<float> attention_weights(Context& context, const AttentionForward& args, int64_t sequence = 0);

}  // namespace weft
