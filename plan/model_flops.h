// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "job/job.h"
#include "kernels/ledger.h"

namespace weft {

// The FLOPs that count as useful, two for each multiply-add, and how they were counted.
struct ModelFlops {
  double flops = 0;
  std::string formula;
};

// For a language model and `target_tokens` tokens: 6 N + 6 x layers x width x T a token, N all parameters, T the
// context, or twice a layer's window if that is less: three products a weight, attention's two products causal,
// embeddings counted as if they were products, nothing recomputed. For a translation model: `counted`.
ModelFlops model_flops(const JobConfig& job, int64_t parameters, int64_t target_tokens, double counted);

// FLOPs of the matrix products and attention among the operations of a ledger.
double counted_products(const Ledger& ledger);

}  // namespace weft
