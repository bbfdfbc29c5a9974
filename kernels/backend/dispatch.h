// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

#include "kernels/backend/backend.h"
#include "kernels/context.h"

namespace weft {

// The cost of one call of an operation. Multiply and add count as two FLOPs; each tensor of the contract that is read
// or written counts its bytes once. The constructor has no defaults, so that no operation leaves one out.
struct Cost {
  Cost(const char* operation, OperationKind kind, double flops, double bytes)
      : operation(operation), kind(kind), flops(flops), bytes(bytes) {}
  const char* operation;
  OperationKind kind;
  double flops, bytes;
};

// Records one operation in the ledger, and in the trace if that is on, when it goes out of scope.
class CostScope {
 public:
  CostScope(Context& context, const Cost& cost);
  ~CostScope();
  CostScope(const CostScope&) = delete;
  CostScope& operator=(const CostScope&) = delete;

 private:
  Context& context_;
  Cost cost_;
  std::chrono::steady_clock::time_point start_;
  int64_t begin_;  // a mark of the trace
};

// For an operation that is one pass over its bytes.
struct NoParts {
  OperationParts operator()() const { return {}; }
};

// Runs an operation on the context's backend; its arguments have been checked. The workspace comes from the context's
// pool. The dry device takes the workspace too, since it counts in the peak of memory, and ends there. `parts` is
// called if the ledger keeps them.
template <Operation Args, class Parts = NoParts>
void dispatch(Context& context, const Cost& cost, const Args& args, const Parts& parts = {}) {
  const CostScope scope(context, cost);
  Ledger& ledger = context.ledger();
  if (ledger.keeps_parts()) ledger.record_parts(cost.operation, cost.kind, parts());
  Backend& backend = context.backend();
  const size_t bytes = backend.workspace(args);
  const std::shared_ptr<Storage> workspace = bytes > 0 ? context.memory().allocate(bytes) : nullptr;
  if (!context.meta()) backend.run(args, workspace ? Scratch(workspace->device_raw()) : Scratch());
}

}  // namespace weft
