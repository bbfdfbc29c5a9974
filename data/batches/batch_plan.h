// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batches/batch.h"
#include "data/batches/batch_config.h"

namespace weft {

class Dataset;
class MixtureOrder;

// One sequence of a step. A window has no source.
struct PlannedSequence {
  int64_t index = 0;          // window: its first token in the stream; pair: its number in the split
  int32_t source_tokens = 0;  // tokens that the encoder sees
  int32_t input_tokens = 0;   // tokens that the decoder sees, and the number of targets
  int32_t unscored = 0;       // leading targets that are context only (a prompt; evaluation with overlapping windows)

  int32_t scored() const { return input_tokens - unscored; }
  int32_t tokens() const { return source_tokens + input_tokens; }
  bool operator==(const PlannedSequence&) const = default;
};

// The sequences of one optimizer step, which are the same on any layout.
struct PlannedStep {
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  std::vector<PlannedSequence> sequences;

  int64_t target_tokens() const;  // tokens to predict: the divisor of the loss
  int64_t tokens() const;         // source and input tokens
};

struct Position {
  int64_t epoch = 0;
  int64_t step = 0;  // number of the step in the epoch
  bool operator==(const Position&) const = default;
};

// The steps of a run as a pure function of (seed, epoch, step in epoch): every rank holds the same plan, and no method
// reads data. Every method may be called from many threads at once.
class BatchPlan {
 public:
  virtual ~BatchPlan() = default;

  virtual int64_t steps_per_epoch(int64_t epoch) const = 0;                  // at least 1
  virtual PlannedStep step(int64_t epoch, int64_t step_in_epoch) const = 0;  // InternalError outside the epoch
  virtual int64_t largest_step(int64_t epoch) const = 0;                     // the step with the most tokens
  virtual int64_t sequences_per_epoch() const = 0;                           // including any that drop_last drops
  virtual std::string order_text() const = 0;                                // for describe_plan()
  virtual const MixtureOrder* mixture() const { return nullptr; }  // null in evaluation; one part: nothing is mixed

  Position after(Position position) const;       // the next step's position
  Position normalised(Position position) const;  // (epoch, steps_per_epoch) is (epoch + 1, 0)

 protected:
  static void check_step(int64_t step, int64_t steps);  // InternalError unless 0 <= step < steps
};

std::shared_ptr<const BatchPlan> make_batch_plan(const BatchConfig& config, const Dataset& dataset, uint64_t seed);

// An evaluation plan takes a whole split once, in order. Its epochs are all the same.
struct EvaluationOptions {
  int64_t context_length = 0;  // streams: input tokens of a window
  int64_t stride = 0;  // streams: tokens between the starts of windows, at most context_length; 0: context_length.
                       // Each token but the stream's first is scored once, with at least context_length - stride
                       // tokens before it (fewer near the beginning)
  int64_t step_tokens = 16384;  // source and target tokens of a step, which has at least one sequence.
                                // evaluate_loss() takes this many a replica. Results depend on the value by rounding.
  int64_t max_sequences = 0;    // only the first N windows or pairs; 0: all
  bool document_mask = false;   // streams: ReadOptions::document_mask
  // evaluate_loss() has the same bits on any number of replicas: each step is a leaf, which one replica takes whole.
  bool leaves = false;
  // Pairs: the model's positions; 0: no limit. Pairs that are longer, or lack a source token or a target, are left out
  int64_t max_length = 0;
};
std::shared_ptr<const BatchPlan> make_evaluation_plan(const EvaluationOptions& options, const Dataset& dataset);
// The number of pairs among the first max_sequences that `evaluation` leaves out.
int64_t left_out_of(const BatchPlan& evaluation, const Dataset& dataset, const EvaluationOptions& options);

// Describes a plan in a few lines: steps an epoch, sequences and tokens a step, sequences and micro-batches a rank,
// and the sequences that are left out. Figures over steps come from at most 16 steps of epoch 0; `beat` is called
// before each step. With thousands of replicas a step takes tens of milliseconds.
std::string describe_plan(const BatchPlan& plan, int64_t dp_size, int64_t micro_batch_tokens,
                          const std::function<void()>& beat = {}, Padding padding = Padding::None,
                          StepCut cut = StepCut::Shares);

}  // namespace weft
