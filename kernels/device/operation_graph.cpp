// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/operation_graph.h"

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/backend/backend.h"
#include "kernels/transfer.h"

namespace weft {

// Graphs of one context are launched into one queue, one after the other, so they may overwrite each other's memory.
OperationGraph::OperationGraph(Context& context, const std::function<void()>& queue)
    : context_(context), memory_(context.graph_pool_.lock()) {
  if (!memory_) context.graph_pool_ = memory_ = make_pool_within(context.pool_);
  const auto exchange = [&] { std::swap(context_.pool_, memory_), std::swap(context_.ledger_, cost_); };
  exchange();
  try {
    if (context.meta()) {
      queue();
    } else {
      graph_ = context.backend().capture(queue);
    }
  } catch (...) {
    exchange();
    throw;
  }
  exchange();
}

OperationGraph::~OperationGraph() = default;

void OperationGraph::launch() const {
  if (graph_) graph_->launch();
  context_.ledger().add(cost_);
  context_.note_progress();
}

bool has_graphs(Context& context) {
  return context.meta() ? context.planned_device().kind == DeviceKind::Cuda : context.backend().has_graphs();
}

StepMirror::StepMirror(Context& context)
    : context_(context), memory_(context.empty({sizeof(StepState) / sizeof(int64_t)}, DType::I64)) {
  static_assert(std::is_trivially_copyable_v<StepState> && sizeof(StepState) % sizeof(int64_t) == 0);
  static_assert(offsetof(StepState, on_device) == offsetof(StepState, unused) + sizeof(StepState::unused));
}

void StepMirror::write(const StepState& state) const {
  upload_bytes(context_, std::as_bytes(std::span(&state, 1)), memory_);
}

StepState StepMirror::read() const { return {.on_device = reinterpret_cast<const StepState*>(memory_.device_raw())}; }

}  // namespace weft
