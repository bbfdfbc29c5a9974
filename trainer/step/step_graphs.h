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

// What is counted on the host: for the report, not for the step.
struct StepCounts {
  int64_t rows = 0;
  size_t activation_bytes = 0;  // the most that a micro-batch's forward pass left for its backward
  double exposed = 0;           // seconds that the step has waited for reductions over dp
};

// Operations of a step with the collectives between them, kept by the device.
class StepGraph {
 public:
  StepGraph(Context& context, const Mesh& mesh, const std::function<void()>& queue);
  void launch();

 private:
  CollectiveLog collectives_;  // that a launch queues
  bool counted_ = true;        // those of the first launch: when they were captured
  OperationGraph graph_;       // last: what is captured fills the log
};

// The graphs of a training step: one for the gradients of each shape of steps, one for the update. The first step of a
// shape is queued operation by operation: products choose their algorithms, memory is taken, communicators connect. The
// second one is captured, and launched as all later ones are. What changes from step to step is read from a mirror of
// StepState, and tokens from where the captured step had them. Which steps are replayed follows from the shapes of all
// steps so far, which all ranks know: a collective is in a graph on all of its ranks or on none.
class StepGraphs {
 public:
  explicit StepGraphs(Transformer& model);

  // Meets a step of this shape, and says whether it is to go through gradients().
  bool take(uint64_t shape);
  // `queue` queues the gradients of a step whose micro-batches are the given ones, with the given state.
  using QueueGradients = std::function<StepCounts(std::span<const ModelBatch>, const StepState&)>;
  StepCounts gradients(uint64_t shape, std::vector<ModelBatch> micro, const StepState& state,
                       const QueueGradients& queue);
  void update(const StepState& state, const std::function<void(const StepState&)>& queue);

 private:
  // Of one shape.
  struct Gradients {
    std::vector<ModelBatch> inputs;  // of the step that was captured: later ones are copied there
    StepCounts counts;
    std::unique_ptr<StepGraph> graph;  // null: only the first step was met
  };
  void feed(const Gradients& captured, std::span<const ModelBatch> micro) const;

  Transformer& model_;
  StepMirror mirror_;
  std::map<uint64_t, Gradients> gradients_;  // by shape
  std::unique_ptr<StepGraph> update_;
  bool updated_ = false;
  bool told_ = false;  // that there are too many shapes
};

}  // namespace weft
