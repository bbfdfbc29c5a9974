// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/dispatch.h"

#include "base/clock.h"

namespace weft {

CostScope::CostScope(Context& context, const Cost& cost)
    : context_(context), cost_(cost), begin_(context.trace().mark()) {
  if (context_.timed()) start_ = std::chrono::steady_clock::now();
}

CostScope::~CostScope() {
  if (begin_ != Trace::kNone) {
    Trace& trace = context_.trace();
    trace.add(SpanKind::Operation, cost_.operation, begin_, trace.mark(), {.bytes = cost_.bytes, .flops = cost_.flops});
  }
  double seconds = 0;
  if (context_.timed()) {
    context_.finish();
    seconds = seconds_since(start_);
  }
  context_.ledger().record(cost_.operation, cost_.kind,
                           {.calls = 1, .flops = cost_.flops, .bytes = cost_.bytes, .seconds = seconds});
  context_.note_progress();
}

}  // namespace weft
