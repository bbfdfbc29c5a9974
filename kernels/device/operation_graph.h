// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

class DeviceGraph;  // kernels/backend/backend.h

// Operations that a device has captured and queues again by one call, instead of one call each: a CUDA graph.
//   const OperationGraph graph(context, [&] { fill(context, t, 1); ... });   // nothing has run
//   graph.launch();                                                          // t is full of ones
// Arguments passed by value (sizes, scales, addresses) are part of the graph; values that differ from launch to launch
// lie in tensors, or in a StepMirror. `queue` may not wait for the device or copy from the host: no uploads, no
// downloads, no measuring of matrix products. Tensors made before the graph belong to the caller. Tensors made by
// `queue` lie in memory that all graphs of the context share, one graph after the other, until the last of them ends.
class OperationGraph {
 public:
  OperationGraph(Context& context, const std::function<void()>& queue);
  ~OperationGraph();
  OperationGraph(const OperationGraph&) = delete;
  OperationGraph& operator=(const OperationGraph&) = delete;
  // Adds the cost of all its operations to the ledger.
  void launch() const;

 private:
  Context& context_;
  std::shared_ptr<MemoryPool> memory_;
  Ledger cost_;
  std::unique_ptr<DeviceGraph> graph_;  // null on the dry device, where a capture takes memory and counts costs
};

// Whether the context's device has graphs; the dry device has them if the device that it plans for does.
bool has_graphs(Context& context);

// A StepState in the device's memory, for replayed operations.
class StepMirror {
 public:
  explicit StepMirror(Context& context);
  // Operations queued from here on read these values.
  void write(const StepState& state) const;
  // The argument of captured operations: they read the mirror at each launch.
  StepState read() const;

 private:
  Context& context_;
  Tensor memory_;
};

}  // namespace weft
