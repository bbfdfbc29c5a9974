// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/batches/loader.h"
#include "data/dataset/dataset.h"
#include "data/tokenizer/tokenizer.h"
#include "job/job.h"
#include "model/transformer.h"
#include "trainer/step/training_step.h"

namespace weft {

// The data that a job trains on: its prepared dataset, opened and checked against the job.
struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> valid;  // null if the dataset has no such split
  std::shared_ptr<const BatchPlan> plan;
  std::shared_ptr<const SequenceReader> reader;  // reads the plan's sequences from `train`
  std::shared_ptr<const Tokenizer> source_tokenizer, target_tokenizer;
};
// ConfigError or DataError, on all ranks, if the dataset is missing, damaged, or does not fit the job. The ranks divide
// the checks of the shards; each opens a shard when it first reads it. Collective.
TrainingData open_training_data(const JobConfig& job, Communicator& world);

// The parts that train a job on one rank: the model with its parameters allocated (their values are not set), the
// optimizer and the step. The dry run of `weft plan`, `weft bench` and the trainer all use it.
class TrainingSetup {
 public:
  // ConfigError if a pattern of the job (train.freeze, optimizer.groups, lora.targets) matches nothing in the model.
  TrainingSetup(Context& context, Mesh& mesh, const JobConfig& job, const Vocabularies& vocabularies);

  Transformer& model() { return *model_; }
  ParameterRegistry& parameters() { return model_->parameters(); }
  TrainingStep& step() { return *step_; }
  Context& context() { return context_; }
  Mesh& mesh() { return mesh_; }
  // Bytes of optimizer state that this rank holds.
  size_t optimizer_bytes() const { return optimizer_bytes_; }
  // Master weights and moments: what checkpoints store. Waits for the gathers of weights, since a load overwrites them.
  std::vector<NamedBuffer> checkpoint_buffers() const;

 private:
  Context& context_;
  Mesh& mesh_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<TrainingStep> step_;
  size_t optimizer_bytes_ = 0;
};

// The padding of the job's steps on the context's device: steps of pairs are padded where there are graphs, also if the
// job has them off, so that their bits are the same.
Padding padding_of(const JobConfig& job, const Context& context);

// The micro-batches of a replica, by its number, for a step of the job: cut and padded as make_loader() does.
StepBatches read_share(const JobConfig& job, const Context& context, const PlannedStep& step,
                       const SequenceReader& reader, int replica, int replicas);

// ConfigError if there are more replicas than leaves in the largest step of an epoch, or more leaves than a step may
// have (ExactStep::kMostLeaves). Nothing to check with ordinary numerics.
void check_leaves(const JobConfig& job, const BatchPlan& plan, int64_t epoch, int replicas);

// Loads this rank's share of the steps of `plan`, beginning at `start`. The loader's thread is on the context's trace,
// if that is on.
Loader make_loader(const JobConfig& job, const Mesh& mesh, Context& context, std::shared_ptr<const BatchPlan> plan,
                   std::shared_ptr<const SequenceReader> reader, Position start = {});

// Runs forward and backward of the step of `epoch` that needs the most memory, so that a run without enough memory ends
// in its first seconds and not after hours. Weights, moments, random numbers and counts stay as they are. ConfigError
// naming the keys to change if memory does not suffice. Collective.
void probe_largest_step(TrainingSetup& setup, const TrainingData& data, const JobConfig& job, int64_t epoch);

}  // namespace weft
