// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/batches/batch.h"
#include "job/job.h"
#include "kernels/device/stopwatch.h"
#include "model/transformer.h"
#include "parallel/parameters/gradient_buckets.h"
#include "trainer/step/exact_step.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/spikes.h"
#include "trainer/step/step_control.h"
#include "trainer/step/step_graphs.h"

namespace weft {

class BatchUpload;  // model/batch_upload.h

struct StepOptions {
  LossTerms terms;
  double clip_norm = 0;  // 0: gradients are not clipped
  Recompute recompute = Recompute::None;
  bool graphs = false;  // steps are captured and replayed if the device has graphs
};
StepOptions step_options(const JobConfig& job);

// The key of a step's dropout masks: a function of the job's seed and the step alone.
uint64_t dropout_key(int64_t seed, int64_t step);

// The results of a step that all ranks have after its one control all-reduce.
struct StepOutcome {
  double loss = 0;            // mean over the step's target tokens, with StepOptions' terms, nats
  double nll = 0;             // the same mean without them, nats
  int64_t target_tokens = 0;  // the tokens that the loss is the mean over
  int64_t tokens = 0;         // source and target tokens
  int64_t padding_rows = 0;   // rows beside those of tokens (data/batches/padded_shape.h)
  double gradient_norm = 0;   // before clipping
  bool replayed = false;      // forward and backward were launched as a graph
  bool captured = false;      // that graph was captured first, which takes longer
  bool spike = false;         // loss or norm was finite, and above its limit
  bool skipped = false;       // loss or norm was a spike, or not finite on some rank: nothing changed
  bool stop = false;          // some rank was asked to stop
  SaveStates save;            // ranks by their progress with the save under way
  bool save_due = false;      // a save is due by rank 0's clock
  bool unagreed = false;      // ranks may have computed with different algorithms: the step has to be repeated
  bool rescaled = false;      // gradients did not fit their exponents: the step has to be repeated
};

struct StepReport {
  StepOutcome outcome;
  RankTimes times;              // the times of this rank
  size_t activation_bytes = 0;  // on this rank: the most bytes that a micro-batch's forward pass left for its backward
};

// The input of a rank to the control all-reduce besides its sums.
struct StepRequests {
  bool stop_asked = false;
  SaveStates save;
  bool save_due = false;
  SpikeLimits limits;  // all ranks have the same
  // Called before the update of a step that is checked: it may ask for watched_gradients(). Its errors leave the step
  // unapplied. Such a step is launched as no graph.
  std::function<void()> before_update;
};

// One optimizer step of one rank: forward and backward over its micro-batches while gradient buckets are summed over
// dp, the control all-reduce, clipping, the update.
class TrainingStep {
 public:
  TrainingStep(Transformer& model, Optimizer& optimizer, const StepOptions& options);
  ~TrainingStep();
  // The caller sets state.learning_rate and dropout_key; run() sets the rest. `updates` counts the updates so far and
  // rises unless the step is skipped. `next` is the step of the next run(), if it has been read: its first micro-batch
  // is uploaded while the last of this step computes. If ranks have measured algorithms during the step, forward and
  // backward are repeated (trainer/step/agreed_algorithms.h).
  StepReport run(const StepBatches& batches, StepState state, int64_t& updates, double data_seconds,
                 const StepRequests& requests, const StepBatches* next = nullptr);
  // Runs forward and backward of `batches` as run() does, without an update; the next step overwrites the gradients.
  // Collective over dp, as run() is.
  void probe_largest_step(const StepBatches& batches);
  // A digest of the gradient of the share's first micro-batch (GradientBuckets::end_probe()). `state` is that of the
  // share's step, as for run(). Not between run() and the end of its update.
  uint64_t gradient_digest(const StepBatches& share, StepState state);
  // Before the update of a step that is checked.
  WatchedGradients watched_gradients() const { return buckets_.watched(); }
  // Waits for gathers of weights. Collective.
  void finish_weight_gather() { model_.parameters().finish_weight_gather(); }
  bool launches_graphs() const { return graphs_ != nullptr; }
  // The sums that have the same bits on any number of replicas; null with ordinary numerics.
  ExactStep* exact() { return exact_.get(); }
  // For work between steps that takes as much memory as a step, such as an evaluation: CUDA graphs give back theirs if
  // there is not so much beside it on some rank. Collective over all ranks.
  void make_room();

 private:
  // Run forward and backward of a step, the sums over dp and the squared norm, either operation by operation or as a
  // graph. report() reads the results in sums_.
  StepCounts run_eagerly(const StepBatches& batches, const StepState& state, const StepBatches* next);
  StepCounts run_as_graph(const StepBatches& batches, const StepState& state, const StepBatches* next);
  // The micro-batches of a step: begin() returns one before it is queued, end() is called after its backward.
  struct MicroBatches {
    size_t mine = 0;
    int64_t most = 0;  // the largest number on any rank
    std::function<ModelBatch(size_t)> begin;
    std::function<void()> end;
  };
  // Queues forward and backward of one micro-batch; returns the bytes that forward left for backward.
  size_t take_through(const ModelBatch& micro, int64_t number, const StepState& state, const LossSums& loss);
  // Queues forward, backward and reductions of all micro-batches.
  StepCounts accumulate_gradients(const MicroBatches& batches, const StepState& state);
  double await_copies();
  void note_memory();                // after a step that was queued operation by operation
  bool all_have_room(size_t bytes);  // collective over all ranks
  // Whether a step may be launched as a graph, as far as memory goes. Collective over all ranks where its shape has
  // none.
  bool has_room_for_graph(uint64_t shape);
  bool watched() const;  // whether someone asks for the time of each operation, which no graph tells
  void update(const StepState& state);

  // A micro-batch that is uploaded to the device while earlier micro-batches compute.
  struct Ahead {
    int64_t epoch = 0, step_in_epoch = 0;
    size_t micro = 0;
    std::unique_ptr<BatchUpload> upload;
    bool is(const StepBatches& batches, size_t index) const {
      return epoch == batches.epoch && step_in_epoch == batches.step_in_epoch && micro == index;
    }
  };
  ModelBatch take(const StepBatches& batches, size_t micro);
  // Allocates the memory of a micro-batch whose upload is not prepared yet; send() uploads it later.
  void prepare(const StepBatches& batches, size_t micro, std::vector<Ahead>& uploads);
  void send(std::vector<Ahead> uploads);
  class Timer;
  // Runs the step up to its update. It can be repeated, since only the update makes use of its gradients.
  StepReport compute(const StepBatches& batches, const StepState& state, Timer& timer, double data_seconds,
                     const StepRequests& requests, const StepBatches* next);
  template <class Work>
  void waiting(Work&& work);
  // The control point of a step: reads from the device, once, and does the control all-reduce.
  StepReport report(const StepBatches& batches, const StepState& state, const StepCounts& counts,
                    const RankTimes& times, const StepRequests& requests);

  // Seconds that passed, and the part of them that this rank waited in collectives.
  struct Time {
    double passed = 0, waited = 0;
  };

  Transformer& model_;
  Optimizer& optimizer_;
  StepOptions options_;
  GradientBuckets buckets_;
  std::unique_ptr<DeviceStopwatch> waits_;   // the device's waits for gradients; null: the host waits
  std::unique_ptr<DeviceStopwatch> copies_;  // the device's waits for checkpoint copies; null: the host waits
  std::vector<Tensor> counted_gradients_;
  WeightGather* gather_;                // null: each replica updates all weights itself
  Tensor sums_;                         // f64[3]: loss, nll, squared norm of the step
  std::unique_ptr<ExactStep> exact_;    // instead of these sums, if gradients are summed exactly
  std::vector<Ahead> ahead_;            // uploads under way
  std::unique_ptr<StepGraphs> graphs_;  // null: every operation is queued by itself
  size_t step_bytes_ = 0;               // the most that a step has needed for its own tensors
  bool gave_way_ = false;               // graphs have given back their memory
  Time post_reduce_time_;               // of the last step, from its control all-reduce to its end
};

}  // namespace weft
