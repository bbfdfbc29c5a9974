// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/device/operation_graph.h"
#include "model/transformer.h"
#include "parallel/mesh.h"

namespace weft {

// What this rank's host counts during forward and backward, for the report.
struct StepCounts {
  int64_t tokens = 0;           // source and target tokens
  size_t activation_bytes = 0;  // the most that a micro-batch's forward pass left for its backward
  double exposed = 0;           // seconds that the step has waited for reductions over dp
};

// Operations of a step with the collectives between them, kept by the device.
class StepGraph {
 public:
  StepGraph(Context& context, const Mesh& mesh, const std::function<void()>& queue);
  void launch();

 private:
  CollectiveLog collectives_;  // what a launch queues
  bool counted_ = true;        // the capture has counted the collectives of the first launch
  OperationGraph graph_;       // declared last: its capture fills the log
};

// The graphs of a training step: one for forward and backward of each shape of steps, one for the update. The first
// step of a shape is queued operation by operation: products choose their algorithms, memory is taken, communicators
// connect. The second one is captured, and launched as all later ones are. What changes from step to step is read from
// a mirror of StepState, and tokens from where the captured step had them. Which steps are replayed follows from the
// shapes of all steps so far, which all ranks know: a collective is in a graph on all of its ranks or on none.
class StepGraphs {
 public:
  explicit StepGraphs(Transformer& model);

  // Notes a step of this shape and returns whether launch() can run it.
  bool take(uint64_t shape);
  // Runs forward and backward as the graph of their shape. `queue` queues them for the given micro-batches and state;
  // it is called once a shape, to capture.
  using QueueStep = std::function<StepCounts(std::span<const ModelBatch>, const StepState&)>;
  StepCounts launch(uint64_t shape, std::vector<ModelBatch> micro, const StepState& state, const QueueStep& queue);
  void update(const StepState& state, const std::function<void(const StepState&)>& queue);

 private:
  struct CapturedStep {
    std::vector<ModelBatch> inputs;  // the captured step's; those of later steps are copied there
    StepCounts counts;
    std::unique_ptr<StepGraph> graph;  // null: only the first step was met
  };
  void feed(const CapturedStep& captured, std::span<const ModelBatch> micro) const;

  Transformer& model_;
  StepMirror mirror_;
  std::map<uint64_t, CapturedStep> captured_;  // by shape
  std::unique_ptr<StepGraph> update_;
  bool updated_ = false;
  bool warned_too_many_shapes_ = false;
};

}  // namespace weft
