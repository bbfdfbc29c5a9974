// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

class DeviceGraph;  // kernels/backend/backend.h

// Operations that a device keeps, and queues again by one call instead of one call each: a CUDA graph.
//   const OperationGraph graph(context, [&] { fill(context, t, 1); ... });   // nothing has run
//   graph.launch();                                                          // t is full of ones
// All that the operations were told by value (sizes, scales, addresses) is part of the graph; what differs from launch
// to launch lies in tensors, or in a StepMirror. Nothing in it may wait for the device or come from the host: uploads,
// downloads, measuring the algorithms of products. The tensors that were there before stay the caller's; those that are
// made within it lie in memory that is kept for the graphs of the context, in turn, as long as there is one.
class OperationGraph {
 public:
  OperationGraph(Context& context, const std::function<void()>& queue);
  ~OperationGraph();
  OperationGraph(const OperationGraph&) = delete;
  OperationGraph& operator=(const OperationGraph&) = delete;
  // Each launch counts in the ledger what the operations cost.
  void launch() const;

 private:
  Context& context_;
  std::shared_ptr<MemoryPool> memory_;
  Ledger cost_;
  std::unique_ptr<DeviceGraph> graph_;
};

// Whether the context's device has graphs.
bool has_graphs(Context& context);

// A StepState in the device's memory, for operations that are replayed.
class StepMirror {
 public:
  explicit StepMirror(Context& context);
  // What is queued from here on reads these values.
  void write(const StepState& state) const;
  // For operations that are captured: they read the mirror, whatever is written to it later.
  StepState read() const;

 private:
  Context& context_;
  Tensor memory_;
};

}  // namespace weft
