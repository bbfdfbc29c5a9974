// SPDX-License-Identifier: Apache-2.0
#include "plan/model_flops.h"

#include <algorithm>

namespace weft {

ModelFlops model_flops(const JobConfig& job, int64_t parameters, int64_t target_tokens, double counted) {
  if (job.is_translation()) {
    return {counted, "2 for each multiply-add of the products and attention, forward and backward"};
  }
  const int64_t context = job.batch.context_length;
  int64_t seen = 0;  // tokens by all layers; of a window about its width, of all on average half
  for (int layer = 0; layer < job.model.layers; ++layer) {
    const int64_t window = job.model.attention_window(layer);
    seen += window > 0 ? std::min(2 * window, context) : context;
  }
  const double attention = 6.0 * static_cast<double>(seen * job.model.width);
  return {static_cast<double>(target_tokens) * (6.0 * static_cast<double>(parameters) + attention),
          job.model.attention_windows.empty()
              ? "6 N + 6 x layers x width x T a token (causal)"
              : "6 N + 6 x width x T a layer and token (causal; T at most two windows)"};
}

double counted_products(const Ledger& ledger) {
  double flops = 0;
  for (const auto& [name, entry] : ledger.entries()) {
    if (entry.kind == OperationKind::Product || entry.kind == OperationKind::Attention) flops += entry.flops;
  }
  return flops;
}

}  // namespace weft
