// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/step_graphs.h"

#include <algorithm>

#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// Windows have two shapes at most, pairs a dozen to some fifty, of which few come often.
constexpr size_t kMostShapes = 32;

// Logs the collectives that are queued while this object lives.
class Logged {
 public:
  Logged(const Mesh& mesh, CollectiveLog& log) : mesh_(mesh) { mesh.log_into(&log); }
  ~Logged() { mesh_.log_into(nullptr); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

 private:
  const Mesh& mesh_;
};

bool same_shape(const Tokens& a, const Tokens& b) {
  return (a == nullptr) == (b == nullptr) && (!a || (a->count() == b->count() && a->sequences() == b->sequences()));
}

}  // namespace

StepGraph::StepGraph(Context& context, const Mesh& mesh, const std::function<void()>& queue)
    : graph_(context, [&] {
        const Logged logged(mesh, collectives_);
        queue();
      }) {}

void StepGraph::launch() {
  graph_.launch();
  if (!std::exchange(counted_, false)) Communicator::queued_again(collectives_);
}

StepGraphs::StepGraphs(Transformer& model) : model_(model), mirror_(model.context()), kept_(kMostShapes) {}

void StepGraphs::drop() {
  kept_.drop();
  captured_.clear();
  update_ = nullptr;
}

bool StepGraphs::take(const StepBatches& batches) {
  const bool kept = kept_.take(batches.shape, batches.bucket);
  const size_t dropped = std::erase_if(captured_, [&](const auto& step) { return !kept_.contains(step.first); });
  if (dropped > 0 && captured_.empty()) update_ = nullptr;  // it holds the memory that the others had
  return kept;
}

StepCounts StepGraphs::launch(uint64_t shape, std::vector<ModelBatch> micro, const StepState& state,
                              const QueueStep& queue) {
  CapturedStep& step = captured_[shape];
  model_.packed_weights().drop();  // as in every forward pass that has a backward
  WeightGather* gather = model_.parameters().weight_gather();
  if (gather) gather->await_started();  // a graph cannot wait for what was queued outside it
  if (step.graph) {
    feed(step, micro);
  } else {
    step.inputs = std::move(micro);
    if (gather) gather->updated_by_graph();  // the graph gathers in every launch, needed or not
    step.graph = std::make_unique<StepGraph>(model_.context(), model_.parameters().mesh(),
                                             [&] { step.counts = queue(step.inputs, mirror_.read()); });
  }
  mirror_.write(state);
  if (gather) await_snapshots(model_.context());  // a checkpoint's copy may still read what is gathered
  step.graph->launch();
  if (gather) gather->gathered_by_graph();
  return step.counts;
}

void StepGraphs::feed(const CapturedStep& captured, std::span<const ModelBatch> micro) const {
  require<InternalError>(micro.size() == captured.inputs.size(), "{} micro-batches for a graph of {}", micro.size(),
                         captured.inputs.size());
  for (size_t i = 0; i < micro.size(); ++i) {
    const ModelBatch& to = captured.inputs[i];
    require<InternalError>(same_shape(micro[i].source, to.source) && same_shape(micro[i].input, to.input),
                           "micro-batch {} has another shape than its graph", i);
    convert(model_.context(), micro[i].arrays, to.arrays);
  }
}

void StepGraphs::update(const StepState& state, const std::function<void(const StepState&)>& queue) {
  if (!std::exchange(updated_, true)) return queue(state);
  if (!update_) {
    update_ = std::make_unique<StepGraph>(model_.context(), model_.parameters().mesh(), [&] { queue(mirror_.read()); });
  }
  mirror_.write(state);
  update_->launch();
  model_.parameters().note_updated_by_graph();
}

}  // namespace weft
