// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

#include "kernels/backend/backend.h"
#include "kernels/context.h"

namespace weft {

// What one call of an operation costs: multiply and add counted as two; bytes read and written in the tensors of the
// contract, each once. The constructor has no defaults, so that no operation leaves one of them out.
struct Cost {
  Cost(const char* operation, OperationKind kind, double flops, double bytes)
      : operation(operation), kind(kind), flops(flops), bytes(bytes) {}
  const char* operation;
  OperationKind kind;
  double flops, bytes;
};

// Records one operation in the ledger when it goes out of scope.
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
};

// Runs an operation whose arguments have been checked on the context's backend. Its workspace comes from the pool, on
// the dry device too, whose peak it is part of; there the operation ends with that.
template <Operation Args>
void dispatch(Context& context, const Cost& cost, const Args& args) {
  const CostScope scope(context, cost);
  Backend& backend = context.backend();
  const size_t bytes = backend.workspace(args);
  const std::shared_ptr<Storage> workspace = bytes > 0 ? context.memory().allocate(bytes) : nullptr;
  if (!context.meta()) backend.run(args, workspace ? Scratch(workspace->device_raw()) : Scratch());
}

}  // namespace weft
