// SPDX-License-Identifier: Apache-2.0
#include "plan/model_flops.h"

namespace weft {

ModelFlops model_flops(const JobConfig& job, int64_t parameters, int64_t target_tokens, double counted) {
  if (job.is_translation()) {
    return {counted, "2 for each multiply-add of the products and attention, forward and backward"};
  }
  const double attention =
      6.0 * static_cast<double>(job.model.layers * job.model.width) * static_cast<double>(job.batch.context_length);
  return {static_cast<double>(target_tokens) * (6.0 * static_cast<double>(parameters) + attention),
          "6 N + 6 x layers x width x T a token (causal)"};
}

double counted_products(const Ledger& ledger) {
  double flops = 0;
  for (const auto& [name, entry] : ledger.entries()) {
    if (entry.kind == OperationKind::Product || entry.kind == OperationKind::Attention) flops += entry.flops;
  }
  return flops;
}

}  // namespace weft
