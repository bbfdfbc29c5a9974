// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/training_setup.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/batches/batch_plan_slice.h"
#include "job/dataset_checks.h"
#include "kernels/device/tuning.h"
#include "parallel/agree.h"
#include "parallel/parameters/parameter_patterns.h"

namespace weft {

TrainingData open_training_data(const JobConfig& job, Communicator& world) {
  TrainingData data;
  const ShardShare share{.part = world.rank(), .of = world.size()};
  agree_each(world, [&] {
    const std::vector<DatasetSource> sources = job.data.sources();
    data.train = std::make_shared<const Dataset>(Dataset::open(sources, DataSplit::Train, share));
    if (!Dataset::has_split(sources, DataSplit::Valid)) return;
    data.valid = std::make_shared<const Dataset>(Dataset::open(sources, DataSplit::Valid, share));
  });
  if (const std::string earlier = data.train->earlier_format(); !earlier.empty()) log_info("{}", earlier);
  check_job_against(job, *data.train);
  check_answers(job, *data.train);
  check_validation_text(job, data.valid.get());
  if (data.valid) check_validation(job, *data.valid, world.rank() == 0);
  data.source_tokenizer = data.train->load_source_tokenizer();
  data.target_tokenizer = data.train->load_target_tokenizer();
  data.plan = make_batch_plan(job.batch, *data.train, static_cast<uint64_t>(job.seed));
  data.reader = make_reader(data.train, {.document_mask = job.data.document_mask});
  return data;
}

namespace {

void freeze(ParameterRegistry& registry, const std::vector<std::string>& patterns) {
  for (const Parameter* p : matching_parameters(registry, patterns, "train.freeze")) registry.freeze(*p);
  const bool none_left = std::ranges::all_of(registry.parameters(), [](const auto& p) { return p->spec().frozen; });
  if (none_left) throw ConfigError("train.freeze: every parameter is frozen", "remove a pattern");
}

}  // namespace

TrainingSetup::TrainingSetup(Context& context, Mesh& mesh, const JobConfig& job, const Vocabularies& vocabularies)
    : context_(context), mesh_(mesh) {
  if (job.train.tf32 && context.device().kind == DeviceKind::Cpu) {
    log_warning("train.tf32 is ignored: the CPU multiplies in full fp32");
  }
  if (job.train.graphs == GraphChoice::On && context.device().kind == DeviceKind::Cpu) {
    log_warning("train.graphs is ignored: CUDA graphs need a CUDA device");
  }
  set_products(context, job.train.products());
  context.set_logits_chunk(job.train.output_chunk_mib << 20);
  choose_attention(context, job.train.attention);
  model_ = make_model(context, mesh,
                      {.config = job.model,
                       .vocabularies = vocabularies,
                       .lora = job.lora,
                       .sequence_parallel = job.parallel.sequence_parallel});
  freeze(model_->parameters(), job.train.freeze);
  Sharding sharding = job.parallel.sharding(context.planned_device(), mesh.dp().size());
  sharding.exact = job.numerics == Numerics::SameBits;
  model_->allocate(job.train.precision, Purpose::Training, sharding);
  const size_t before = context.memory().use().lent;
  optimizer_ = std::make_unique<Optimizer>(context, model_->parameters(), job.optimizer);
  optimizer_bytes_ = context.memory().use().lent - before;
  step_ = std::make_unique<TrainingStep>(*model_, *optimizer_, step_options(job));
  if (context.device().kind == DeviceKind::Cuda) {
    log_info("steps are {}", step_->launches_graphs() ? "launched as CUDA graphs" : "launched operation by operation");
  }
}

std::vector<NamedBuffer> TrainingSetup::checkpoint_buffers() const {
  model_->parameters().await_weights();
  std::vector<NamedBuffer> buffers = {{kMasterBuffer, model_->parameters().master()}};
  for (const NamedBuffer& b : optimizer_->buffers()) buffers.push_back(b);
  return buffers;
}

Padding padding_of(const JobConfig& job, const Context& context) {
  const bool graphs = context.planned_device().kind == DeviceKind::Cuda;
  return graphs && job.data.is_pairs() ? Padding::Buckets : Padding::None;
}

StepBatches read_share(const JobConfig& job, const Context& context, const PlannedStep& step,
                       const SequenceReader& reader, int replica, int replicas) {
  return read_step(step, reader, replica, replicas, job.batch.most_tokens_at_once(), padding_of(job, context),
                   job.batch.cut());
}

void check_leaves(const JobConfig& job, const BatchPlan& plan, int64_t epoch, int replicas) {
  if (job.batch.cut() != StepCut::Leaves) return;
  const auto leaves = std::ssize(cut_leaves(plan.step(epoch, plan.largest_step(epoch)), job.batch.leaf_tokens));
  if (leaves < replicas) {
    throw ConfigError(fmt::format("batch.leaf_tokens: the largest step has {} of {} tokens, and there are {}, each of "
                                  "which takes whole leaves",
                                  leaves == 1 ? "one leaf" : fmt::format("{} leaves", leaves), job.batch.leaf_tokens,
                                  counted(replicas, "replica")),
                      "lower batch.leaf_tokens, enlarge the step, or start fewer ranks");
  }
  // Sums over the ranks of a replica have as many terms more.
  const int64_t most = ExactStep::kMostLeaves / job.parallel.tp;
  if (leaves > most) {
    throw ConfigError(fmt::format("batch.leaf_tokens: the largest step has {} leaves of {} tokens; it may have {}",
                                  leaves, job.batch.leaf_tokens, most),
                      "raise batch.leaf_tokens");
  }
}

Loader make_loader(const JobConfig& job, const Mesh& mesh, Context& context, std::shared_ptr<const BatchPlan> plan,
                   std::shared_ptr<const SequenceReader> reader, Position start) {
  const auto was_read = [&trace = context.trace()](Trace::Clock::time_point began) {
    if (trace.on()) trace.add_of_host(SpanKind::Load, "tokens of a step", began, Trace::Clock::now());
  };
  return Loader({.plan = std::move(plan),
                 .reader = std::move(reader),
                 .dp_rank = mesh.dp().rank(),
                 .dp_size = mesh.dp().size(),
                 .micro_batch_tokens = job.batch.most_tokens_at_once(),
                 .padding = padding_of(job, context),
                 .cut = job.batch.cut(),
                 .start = start,
                 .was_read = was_read});
}

void probe_largest_step(TrainingSetup& setup, const TrainingData& data, const JobConfig& job, int64_t epoch) {
  const PlannedStep largest = data.plan->step(epoch, data.plan->largest_step(epoch));
  Mesh& mesh = setup.mesh();
  const MemoryPool& memory = setup.context().memory();
  const auto began = std::chrono::steady_clock::now();
  const auto does_not_fit = [&] {
    return ConfigError(
        fmt::format("rank {}: there is not enough memory for the largest step of epoch {} (step {}, {} tokens); {} "
                    "bytes of tensors were in use at most",
                    mesh.world().rank(), epoch, largest.step_in_epoch, largest.tokens(), memory.use().peak),
        fmt::format("lower batch.{}, or set train.recompute: block",
                    job.batch.cut() == StepCut::Leaves ? "leaf_tokens" : "micro_batch_tokens"));
  };
  try {
    setup.step().probe_largest_step(
        read_share(job, setup.context(), largest, *data.reader, mesh.dp().rank(), mesh.dp().size()));
  } catch (const MemoryError&) {
    throw does_not_fit();
  } catch (const std::bad_alloc&) {
    throw does_not_fit();
  }
  const double peak = mesh.world().all_reduce_host(static_cast<double>(memory.use().peak), ReduceOp::Max);
  log_info(
      "the largest step of epoch {} (step {}, {} tokens) was tried once: {:.1f} MiB of tensors at most on a rank, {}",
      epoch, largest.step_in_epoch, largest.tokens(), peak / (1 << 20), format_duration(seconds_since(began)));
}

}  // namespace weft
