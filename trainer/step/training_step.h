// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/batches/batch.h"
#include "job/job.h"
#include "kernels/device/stopwatch.h"
#include "model/transformer.h"
#include "parallel/parameters/gradient_buckets.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/step_control.h"
#include "trainer/step/step_graphs.h"

namespace weft {

class BatchUpload;  // model/batch_upload.h

struct StepOptions {
  double label_smoothing = 0;
  double clip_norm = 0;  // 0: gradients are not clipped
  Recompute recompute = Recompute::None;
  bool graphs = false;  // steps are captured and replayed, on a device that has graphs
};
StepOptions step_options(const JobConfig& job);

// The key of a step's dropout masks: a function of the job's seed and the step alone.
uint64_t dropout_key(int64_t seed, int64_t step);

// What all ranks know after the one control all-reduce of a step.
struct StepReport {
  double loss = 0;            // mean over the step's target tokens, label smoothing included, nats
  double nll = 0;             // the same without smoothing
  int64_t target_tokens = 0;  // of the whole step
  int64_t rows = 0;           // source and target rows of the whole step
  double gradient_norm = 0;   // before clipping
  bool replayed = false;      // forward and backward were launched as a graph
  bool skipped = false;       // loss or norm was not finite somewhere: nothing changed
  bool stop = false;          // some rank was asked to stop
  SaveStates save;            // of the save under way, summed over the ranks
  bool save_due = false;      // by rank 0's clock
  bool unagreed = false;      // ranks may have computed with other algorithms: the step is to be done again
  StepTimes times;            // of this rank, for this step's forward and backward and the last step's update
  double update_seconds = 0;  // of this rank: gradient norm and update, without waiting for others
  // That an update waited for the copy of a save: this one's, or on a device the last one's.
  double copy_wait_seconds = 0;
  size_t activation_bytes = 0;  // of this rank: the most that a micro-batch's forward pass left for its backward
};

// What a rank brings to the control all-reduce besides its sums.
struct StepRequests {
  bool stop_asked = false;
  SaveStates save;
  bool save_due = false;
};

// One optimizer step of one rank: forward and backward over its micro-batches while gradient buckets are summed over
// dp, the control all-reduce, clipping, the update.
class TrainingStep {
 public:
  TrainingStep(Transformer& model, Optimizer& optimizer, const StepOptions& options);
  ~TrainingStep();
  // state.learning_rate and dropout_key are the caller's; the rest is set here. `updates` counts the updates done
  // so far and goes up unless the step is skipped. `next`, where it is there already, is the step of the next run():
  // its first micro-batch is uploaded while the last of this one computes. Forward and backward are done again where
  // ranks have measured algorithms meanwhile (trainer/step/agreed_algorithms.h).
  StepReport run(const StepBatches& batches, StepState state, int64_t& updates, double data_seconds,
                 const StepRequests& requests, const StepBatches* next = nullptr);
  // Forward and backward of `batches` as run() does them, and no more: no update, and gradients that the next step
  // overwrites. Collective over dp, as run() is.
  void probe_largest_step(const StepBatches& batches);

 private:
  // Forward and backward of a step, the sums over dp and the squared norm; leaves what report() reads in sums_. Either
  // operation by operation, or as a graph.
  StepCounts gradients(const StepBatches& batches, const StepState& state, const StepBatches* next);
  StepCounts replayed_gradients(const StepBatches& batches, const StepState& state, const StepBatches* next);
  // Where the micro-batches of a step come from: begin() is called before one is queued, end() after.
  struct MicroBatches {
    size_t mine = 0;
    int64_t most = 0;  // of a rank
    std::function<ModelBatch(size_t)> begin;
    std::function<void()> end;
  };
  StepCounts queue_gradients(const MicroBatches& batches, const StepState& state);
  double await_copies();
  void update(const StepState& state);

  // A micro-batch that is on its way to the device while the ones before it compute.
  struct Ahead {
    int64_t epoch = 0, step_in_epoch = 0;
    size_t micro = 0;
    std::unique_ptr<BatchUpload> upload;
    bool is(const StepBatches& batches, size_t index) const {
      return epoch == batches.epoch && step_in_epoch == batches.step_in_epoch && micro == index;
    }
  };
  ModelBatch take(const StepBatches& batches, size_t micro);
  // Takes the memory of a micro-batch that is not yet on its way, to be sent later.
  void prepare(const StepBatches& batches, size_t micro, std::vector<Ahead>& uploads);
  void send(std::vector<Ahead> uploads);
  class Timer;
  // All of the step but its update: what no other call sees before the update is done.
  StepReport compute(const StepBatches& batches, const StepState& state, Timer& timer, double data_seconds,
                     const StepRequests& requests, const StepBatches* next);
  template <class Work>
  void waiting(Work&& work);
  // The control point: reads the device, once, and does the control all-reduce.
  StepReport report(const StepBatches& batches, const StepState& state, const StepCounts& counts, StepTimes times,
                    const StepRequests& requests);

  // Seconds that passed, and those of them in which collectives kept this rank waiting.
  struct Time {
    double passed = 0, waited = 0;
  };

  Transformer& model_;
  Optimizer& optimizer_;
  StepOptions options_;
  GradientBuckets buckets_;
  std::unique_ptr<DeviceStopwatch> waits_;   // for gradients, where the device waits and not the host
  std::unique_ptr<DeviceStopwatch> copies_;  // for those of saves, likewise
  std::vector<Tensor> counted_gradients_;
  Tensor sums_;                         // f64[3]: loss, nll, squared norm of the step
  std::vector<Ahead> ahead_;            // sent
  std::unique_ptr<StepGraphs> graphs_;  // null: every operation is queued by itself
  Time post_reduce_time_;               // of the last step, after its control all-reduce was begun
};

}  // namespace weft
