// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/batches/batch.h"
#include "kernels/device/operation_graph.h"
#include "model/transformer.h"
#include "parallel/mesh.h"
#include "trainer/step/kept_shapes.h"

namespace weft {

// The counts that this rank's host takes during forward and backward, for the report.
struct StepCounts {
  size_t activation_bytes = 0;  // the most bytes that a micro-batch's forward pass left for its backward
  double exposed = 0;           // seconds that the step has waited for reductions over dp
};

// Operations of a step and the collectives between them, captured as a graph that the device runs again.
class StepGraph {
 public:
  StepGraph(Context& context, const Mesh& mesh, const std::function<void()>& queue);
  void launch();

 private:
  CollectiveLog collectives_;  // the collectives that a launch queues
  bool counted_ = true;        // the capture has counted the collectives of the first launch
  OperationGraph graph_;       // declared last: its capture fills the log
};

// The graphs of a training step: one for forward and backward of each shape of step, and one for the update. The first
// step of a shape is queued operation by operation: products choose algorithms, memory is taken, communicators connect.
// The second step is captured, and launched like all later ones. A graph reads the values that change with the step
// from a mirror of StepState, and tokens from the memory of the captured step. The shapes of all steps so far, equal on
// all ranks, decide which steps are replayed (KeptShapes): a collective is in a graph on all of its ranks or on none.
class StepGraphs {
 public:
  explicit StepGraphs(Transformer& model);

  // Whether take() has let launch() run this shape since the last drop(), and any shape. Equal on all ranks.
  bool keeps(uint64_t shape) const { return kept_.contains(shape); }
  bool keeps_any() const { return !kept_.empty(); }
  // Gives back the memory of the graphs, which are captured again when their shapes come. All ranks together.
  void drop();
  // Notes a step and returns whether launch() can run it.
  bool take(const StepBatches& batches);
  // Whether the shape's graph has been captured.
  bool contains(uint64_t shape) const { return captured_.contains(shape); }
  // Runs forward and backward as the graph of their shape. `queue` queues them for the given micro-batches and state;
  // it is called for the capture alone.
  using QueueStep = std::function<StepCounts(std::span<const ModelBatch>, const StepState&)>;
  StepCounts launch(uint64_t shape, std::vector<ModelBatch> micro, const StepState& state, const QueueStep& queue);
  void update(const StepState& state, const std::function<void(const StepState&)>& queue);

 private:
  struct CapturedStep {
    std::vector<ModelBatch> inputs;  // the captured step's micro-batches; later steps are copied into them
    StepCounts counts;
    std::unique_ptr<StepGraph> graph;  // null until the first launch
  };
  void feed(const CapturedStep& captured, std::span<const ModelBatch> micro) const;

  Transformer& model_;
  StepMirror mirror_;
  KeptShapes kept_;
  std::map<uint64_t, CapturedStep> captured_;  // by shape, at most those that are kept
  std::unique_ptr<StepGraph> update_;
  bool updated_ = false;
};

}  // namespace weft
