// SPDX-License-Identifier: Apache-2.0
#include "plan/step_plan.h"

#include <algorithm>

#include "base/divide_up.h"
#include "base/error.h"
#include "checkpoint/parameters.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "job/dataset_checks.h"
#include "job/vocabularies.h"
#include "kernels/device/devices.h"
#include "parallel/local/dry_communicator.h"
#include "plan/model_flops.h"
#include "trainer/step/training_setup.h"

namespace weft {
namespace {

// A dry run needs the shapes of tokens and no values.
class AnyTokens : public SequenceReader {
 public:
  void read(const PlannedSequence&, std::span<int32_t> source, std::span<int32_t> target) const override {
    std::ranges::fill(source, 0);
    std::ranges::fill(target, 0);
  }
};

// The longest pairs that the job allows: its data.max_*_tokens, or else the positions of its model.
PairLengths longest_pairs(const JobConfig& job, int64_t pairs) {
  const auto limit = [](int64_t stated, int64_t fallback) {
    return static_cast<int32_t>(stated > 0 ? stated : fallback);
  };
  PairLengths lengths;
  lengths.source.assign(static_cast<size_t>(pairs), limit(job.data.max_source_tokens, job.model.max_length));
  // A target sequence is one token longer than the decoder's inputs.
  lengths.target.assign(static_cast<size_t>(pairs), limit(job.data.max_target_tokens, job.model.max_length + 1));
  return lengths;
}

std::shared_ptr<const BatchPlan> planned_batches(const JobConfig& job) {
  const BatchConfig& batch = job.batch;
  const auto seed = static_cast<uint64_t>(job.seed);
  if (const auto train = prepared_train_split(job)) return make_batch_plan(batch, *train, seed);
  if (job.data.is_pairs()) {
    const int64_t row = job.is_translation() ? longest_pairs(job, 1).target[0] - 1 : job.model.max_length;
    const int64_t pairs = batch.sequences > 0 ? batch.sequences : divide_up(batch.tokens, row);
    PairLengths lengths = longest_pairs(job, pairs);
    if (!job.is_translation()) {
      lengths = {.source = std::vector<int32_t>(static_cast<size_t>(pairs), 1),
                 .target = std::vector<int32_t>(static_cast<size_t>(pairs), static_cast<int32_t>(row)),
                 .joined = true};
    }
    return make_pair_plan(batch, std::move(lengths), seed);
  }
  const int64_t windows = batch.sequences > 0 ? batch.sequences : divide_up(batch.tokens, batch.context_length);
  return make_window_plan(batch, (windows + 1) * (batch.context_length + 1), seed);
}

JobConfig on_layout(JobConfig job, const MeshLayout& layout) {
  job.parallel.set_replica(layout);
  return job;
}

}  // namespace

double StepPlan::moved(const std::string& axis) const {
  double sum = 0;
  for (const auto& [name, entry] : traffic) {
    if (name.starts_with(axis + ".")) sum += entry.bytes;
  }
  return sum;
}

bool can_be_planned(const JobConfig& job) {
  return known_vocabularies(job, prepared_train_split(job).get()).has_value();
}

Vocabularies planned_vocabularies(const JobConfig& job) {
  if (const auto known = known_vocabularies(job, prepared_train_split(job).get())) return *known;
  throw ConfigError("the vocabulary is not known before the dataset is prepared",
                    "run weft prepare, or --set tokenizer.vocabulary=N");
}

std::vector<MeshLayout> possible_layouts(const JobConfig& job, int ranks) {
  std::vector<MeshLayout> layouts;
  for (const MeshLayout& layout : layouts_of(ranks)) {
    if (shape_problems(on_layout(job, layout)).empty()) layouts.push_back(layout);
  }
  if (layouts.empty()) throw ConfigError(fmt::format("no layout of {} ranks divides this model", ranks));
  return layouts;
}

void check_layout(const JobConfig& job, const MeshLayout& layout) { check_shapes(on_layout(job, layout)); }

StepPlan plan_step(const JobConfig& job, const MeshLayout& layout, const PlannedDevice& device) {
  const std::unique_ptr<Context> dry =
      device.cuda ? plan_for_cuda(device.threads) : std::make_unique<Context>(Device{DeviceKind::Meta}, device.threads);
  Context& context = *dry;
  Mesh mesh = dry_mesh(layout, context);
  TrainingSetup setup(context, mesh, job, planned_vocabularies(job));
  const ParameterRegistry& parameters = setup.parameters();
  StepPlan plan{.layout = layout,
                .precision = job.train.precision,
                .parameters = parameters.global_elements(),
                .optimizer_bytes = setup.optimizer_bytes(),
                .attention = job.train.attention,
                .graphs = setup.step().launches_graphs()};
  const bool own_masters = parameters.master().data.storage() != parameters.flat_value().storage();
  plan.weight_bytes = parameters.flat_value().bytes() + (own_masters ? parameters.master().data.bytes() : 0);
  plan.gathers_weights = parameters.layout().sharded();
  plan.gradient_bytes = parameters.reduced_gradient().data.bytes();
  if (parameters.flat_gradient() && parameters.layout().sharded()) {
    plan.gradient_bytes += parameters.flat_gradient().bytes();
  }

  plan.snapshot_bytes = largest_part_bytes(parameters, setup.checkpoint_buffers());

  const auto batches = planned_batches(job);
  check_leaves(job, *batches, 0, layout.dp);
  const auto read = [&](const PlannedStep& step) { return read_share(job, context, step, AnyTokens(), 0, layout.dp); };
  const StepBatches mine = read(batches->step(0, batches->largest_step(0)));
  context.ledger().clear();
  context.ledger().keep_parts(true);
  StepState state;
  int64_t updates = 0;
  const StepReport report = setup.step().run(mine, state, updates, 0, {}, &mine);
  setup.parameters().finish_weight_gather();  // with graphs, the next step would gather what this one has updated
  if (const ExactStep* exact = setup.step().exact()) plan.exact_sum_bytes = exact->integer_bytes();
  plan.gradient_bytes += plan.exact_sum_bytes;
  plan.activation_bytes = report.activation_bytes;
  plan.target_tokens = report.outcome.target_tokens;
  plan.micro_batches = static_cast<int64_t>(mine.micro.size());
  for (const auto& [name, entry] : context.ledger().entries()) {
    plan.flops += entry.flops;
    if (entry.kind == OperationKind::Collective) {
      plan.traffic[name] = {entry.calls, entry.moved};
    } else {
      plan.operations.emplace(name, entry);
    }
  }
  plan.model_flops =
      model_flops(job, plan.parameters, plan.target_tokens, counted_products(context.ledger()) * layout.ranks()).flops;
  // Graphs keep the memory of the steps that they replay, so a step of another shape needs its own beside it.
  if (setup.step().launches_graphs()) {
    setup.step().run(mine, state, updates, 0, {}, &mine);
    const StepBatches last = read(batches->step(0, batches->steps_per_epoch(0) - 1));
    if (job.data.is_pairs()) {
      setup.step().probe_largest_step(mine);
    } else if (last.shape != mine.shape) {
      setup.step().probe_largest_step(last);
    }
  }
  plan.peak_bytes = context.memory().use().peak;
  return plan;
}

}  // namespace weft
