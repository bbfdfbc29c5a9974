// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/training_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/optimizer.h"
#include "kernels/transfer.h"
#include "model/batch_upload.h"
#include "parallel/parameters/gradient_norm.h"
#include "trainer/step/agreed_algorithms.h"

namespace weft {

StepOptions step_options(const JobConfig& job) {
  return {
      .terms = {.smoothing = job.train.label_smoothing, .z_loss = job.train.z_loss},
      .clip_norm = job.train.clip_norm,
      .recompute = job.train.recompute,
      .graphs = job.train.graphs == GraphChoice::On || (job.train.graphs == GraphChoice::Auto && job.repeats_shapes())};
}

uint64_t dropout_key(int64_t seed, int64_t step) { return hash64(fmt::format("dropout {} {}", seed, step)); }

class TrainingStep::Timer {
 public:
  explicit Timer(const Mesh& mesh) : mesh_(mesh) { restart(); }
  void restart() { start_ = std::chrono::steady_clock::now(), waited_ = mesh_.waited_seconds(); }
  Time read() const { return {.passed = seconds_since(start_), .waited = mesh_.waited_seconds() - waited_}; }

 private:
  const Mesh& mesh_;
  std::chrono::steady_clock::time_point start_;
  double waited_ = 0;
};

TrainingStep::TrainingStep(Transformer& model, Optimizer& optimizer, const StepOptions& options)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      buckets_(model.parameters()),
      waits_(make_device_stopwatch(model.context())),
      copies_(make_device_stopwatch(model.context())),
      counted_gradients_(counted_gradients(model.parameters())),
      gather_(model.parameters().weight_gather()),
      sums_(model.context().empty({3}, DType::F64)) {
  if (buckets_.exact()) exact_ = std::make_unique<ExactStep>(model, *buckets_.exact());
  if (!options.graphs || !has_graphs(model.context())) return;
  graphs_ = std::make_unique<StepGraphs>(model);
  if (gather_) gather_->begin(WeightGather::Begin::AtForward);
}

TrainingStep::~TrainingStep() = default;

ModelBatch TrainingStep::take(const StepBatches& batches, size_t micro) {
  const auto at = std::ranges::find_if(ahead_, [&](const Ahead& sent) { return sent.is(batches, micro); });
  if (at == ahead_.end()) return to_device(model_, batches.micro[micro], TokenUse::Backward);
  const Ahead taken = std::move(*at);
  ahead_.erase(at);
  return taken.upload->arrive();
}

void TrainingStep::prepare(const StepBatches& batches, size_t micro, std::vector<Ahead>& uploads) {
  const auto is = [&](const Ahead& sent) { return sent.is(batches, micro); };
  if (micro >= batches.micro.size() || std::ranges::any_of(ahead_, is)) return;
  uploads.push_back({.epoch = batches.epoch,
                     .step_in_epoch = batches.step_in_epoch,
                     .micro = micro,
                     .upload = std::make_unique<BatchUpload>(model_, batches.micro[micro], TokenUse::Backward)});
}

void TrainingStep::send(std::vector<Ahead> uploads) {
  for (Ahead& one : uploads) {
    one.upload->send();
    ahead_.push_back(std::move(one));
  }
}

// A micro-batch is uploaded while the one before it computes.
StepCounts TrainingStep::run_eagerly(const StepBatches& batches, const StepState& state, const StepBatches* next) {
  std::vector<Ahead> following;
  const auto begin = [&](size_t i) {
    ModelBatch micro = take(batches, i);
    if (i + 1 < batches.micro.size()) {
      prepare(batches, i + 1, following);
    } else if (next) {
      prepare(*next, 0, following);
    }
    return micro;
  };
  const auto end = [&] { send(std::exchange(following, {})); };
  const StepCounts counts = accumulate_gradients(
      {.mine = batches.micro.size(), .most = batches.most_micro, .begin = begin, .end = end}, state);
  note_memory();
  return counts;
}

// The pool keeps the blocks of a step's own tensors, which are gone; before there are graphs it lends them to nobody.
void TrainingStep::note_memory() {
  if (graphs_) step_bytes_ = std::max(step_bytes_, model_.context().memory().use().cached);
}

bool TrainingStep::all_have_room(size_t bytes) {
  const double lacks = model_.context().memory().room() < bytes ? 1 : 0;
  return model_.parameters().mesh().world().all_reduce_host(lacks, ReduceOp::Max) == 0;
}

// A capture takes blocks that fit less well than those of the step that it repeats, if that was not the last one.
bool TrainingStep::has_room_for_graph(uint64_t shape) {
  const size_t enough = step_bytes_ + step_bytes_ / 8;
  if (graphs_->keeps(shape) || all_have_room(enough)) return true;
  if (!graphs_->keeps_any()) return false;
  make_room();
  return all_have_room(enough);
}

void TrainingStep::make_room() {
  if (!graphs_ || all_have_room(step_bytes_)) return;
  graphs_->drop();
  if (std::exchange(gave_way_, true)) return;
  log_info(
      "CUDA graphs give back their memory to steps of other shapes and to evaluations, {:.1f} MiB at most, and are "
      "captured again after them",
      static_cast<double>(step_bytes_) / (1 << 20));
}

// The graph needs all micro-batches before it is launched; those of the next step are uploaded while it runs.
StepCounts TrainingStep::run_as_graph(const StepBatches& batches, const StepState& state, const StepBatches* next) {
  std::vector<ModelBatch> micro;
  for (size_t i = 0; i < batches.micro.size(); ++i) micro.push_back(take(batches, i));
  std::vector<Ahead> following;
  for (size_t i = 0; next && i < next->micro.size(); ++i) prepare(*next, i, following);
  const StepCounts counts = graphs_->launch(
      batches.shape, std::move(micro), state, [&](std::span<const ModelBatch> inputs, const StepState& mirrored) {
        const auto begin = [&](size_t i) { return inputs[i]; };
        return accumulate_gradients({.mine = inputs.size(), .most = batches.most_micro, .begin = begin, .end = [] {}},
                                    mirrored);
      });
  send(std::move(following));
  return counts;
}

// Times `work`, in which the device waits for the gradients of other replicas.
template <class Work>
void TrainingStep::waiting(Work&& work) {
  if (waits_) waits_->start();
  work();
  if (waits_) waits_->stop();
}

StepCounts TrainingStep::accumulate_gradients(const MicroBatches& batches, const StepState& state) {
  Context& context = model_.context();
  fill(context, sums_, 0);
  if (exact_) exact_->clear_losses();
  const LossSums loss{.loss = sums_.slice(0, 1), .nll = sums_.slice(1, 2)};
  StepCounts counts;
  buckets_.begin_step();
  if (gather_) gather_->forget_waited(), gather_->start_due();
  if (waits_) waits_->reset();
  // Replicas that divide their gradients reduce after every micro-batch; one with fewer micro-batches still takes part.
  const size_t rounds = std::max(batches.mine, static_cast<size_t>(batches.most));
  for (size_t i = 0; i < rounds; ++i) {
    buckets_.begin_micro_batch(i + 1 == batches.mine);
    if (i >= batches.mine) {
      waiting([&] { buckets_.end_micro_batch(); });
      continue;
    }
    const ModelBatch micro = batches.begin(i);
    const size_t bytes = take_through(micro, static_cast<int64_t>(i), state, exact_ ? exact_->loss(i) : loss);
    counts.activation_bytes = std::max(counts.activation_bytes, bytes);
    batches.end();
    waiting([&] { buckets_.end_micro_batch(); });
  }
  waiting([&] { counts.exposed = buckets_.finish(); });
  // Every rank waits, also one that had no micro-batch and read no weights; a capture must end with the gathers.
  model_.parameters().await_weights();
  if (!exact_) square_sum(context, {.parts = counted_gradients_, .out = sums_.slice(2, 3)});
  return counts;
}

size_t TrainingStep::take_through(const ModelBatch& micro, int64_t number, const StepState& state,
                                  const LossSums& loss) {
  Context& context = model_.context();
  const size_t held = context.memory().use().lent;
  Tape tape(context, Tape::Mode::Record, &buckets_);
  ForwardContext forward{.tape = tape, .step = state, .recompute = options_.recompute};
  {
    const QueueSpan traced(context, SpanKind::Phase, "forward of micro-batch", number);
    model_.loss(forward, micro, options_.terms, loss);
  }
  const size_t kept = context.memory().use().lent - held;
  const QueueSpan traced(context, SpanKind::Phase, "backward of micro-batch", number);
  tape.backward();
  return kept;
}

void TrainingStep::probe_largest_step(const StepBatches& batches) {
  StepState state;
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  if (exact_) exact_->prepare(batches);
  run_eagerly(batches, state, &batches);
  ahead_.clear();
}

uint64_t TrainingStep::gradient_digest(const StepBatches& share, StepState state) {
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(share.step_target_tokens, 1));
  fill(model_.context(), sums_, 0);
  buckets_.begin_probe();
  take_through(to_device(model_, share.micro[0], TokenUse::Backward), 0, state,
               {.loss = sums_.slice(0, 1), .nll = sums_.slice(1, 2)});
  return buckets_.end_probe();
}

StepReport TrainingStep::report(const StepBatches& batches, const StepState& state, const StepCounts& counts,
                                const RankTimes& times, const StepRequests& requests) {
  Context& context = model_.context();
  Mesh& mesh = model_.parameters().mesh();
  mesh.settle();
  std::array<double, 3> sums{};
  download(context, sums_, std::span<double>(sums));
  StepReport report{.outcome = {}, .times = times, .activation_bytes = counts.activation_bytes};
  if (waits_) report.times.exposed = waits_->take();
  if (gather_) report.times.exposed += gather_->take_waited();
  if (copies_) report.times.copy_wait = copies_->take();
  const double mine = mesh.first_of_replica() ? 1 : 0;  // the shards of a replica see the same tokens
  int64_t tokens = 0;
  for (const MicroBatch& micro : batches.micro) tokens += micro.tokens();
  ControlSums control =
      reduce_control(mesh.world(), {.loss = mine * sums[0],
                                    .nll = mine * sums[1],
                                    .tokens = mine * static_cast<double>(tokens),
                                    .squared_norm = sums[2],
                                    .stop_asked = requests.stop_asked ? 1.0 : 0.0,
                                    .save = requests.save,
                                    .save_due = requests.save_due ? 1.0 : 0.0,
                                    .unagreed = has_unagreed_algorithms(context, mesh.world()) ? 1.0 : 0.0});
  StepOutcome& outcome = report.outcome;
  if (exact_) {
    const ExactStep::Totals totals = exact_->totals(batches);
    control.loss = totals.loss, control.nll = totals.nll, control.squared_norm = totals.squared_norm;
    outcome.rescaled = totals.repeat;
  }
  outcome.gradient_norm = std::sqrt(control.squared_norm);
  outcome.loss = control.loss * state.inverse_divisor;
  outcome.nll = control.nll * state.inverse_divisor;
  outcome.tokens = static_cast<int64_t>(control.tokens);
  outcome.stop = control.stop_asked > 0;
  outcome.save = control.save;
  outcome.save_due = control.save_due > 0;
  outcome.unagreed = control.unagreed > 0;
  outcome.target_tokens = batches.step_target_tokens;
  outcome.padding_rows = batches.padding_rows;
  const bool finite = std::isfinite(outcome.gradient_norm) && std::isfinite(outcome.loss);
  outcome.spike = finite && requests.limits.passed_by(outcome.loss, outcome.gradient_norm);
  outcome.skipped = !finite || outcome.spike;
  return report;
}

StepReport TrainingStep::compute(const StepBatches& batches, const StepState& state, Timer& timer, double data_seconds,
                                 const StepRequests& requests, const StepBatches* next) {
  // take() notes the shape even if this rank times its operations: all ranks' graphs must be given the same shapes.
  const bool replayed =
      graphs_ && has_room_for_graph(batches.shape) && graphs_->take(batches) && !watched() && !requests.before_update;
  const bool captured = replayed && !graphs_->contains(batches.shape);
  if (exact_) exact_->prepare(batches);
  if (requests.before_update) buckets_.watch();
  const StepCounts counts = replayed ? run_as_graph(batches, state, next) : run_eagerly(batches, state, next);
  const Time before_reduce = timer.read();
  timer.restart();
  const double waited = before_reduce.waited + post_reduce_time_.waited;
  StepReport step = report(batches, state, counts,
                           {.busy = before_reduce.passed + post_reduce_time_.passed - waited,
                            .data = data_seconds,
                            .wait = waited,
                            .exposed = counts.exposed},
                           requests);
  step.outcome.replayed = replayed;
  step.outcome.captured = captured;
  return step;
}

StepReport TrainingStep::run(const StepBatches& batches, StepState state, int64_t& updates, double data_seconds,
                             const StepRequests& requests, const StepBatches* next) {
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  if (exact_) exact_->begin_step();
  Timer timer(model_.parameters().mesh());
  StepReport step = compute(batches, state, timer, data_seconds, requests, next);
  while (step.outcome.unagreed || step.outcome.rescaled) {
    if (step.outcome.unagreed) agree_on_algorithms(model_.context(), model_.parameters().mesh().world());
    timer.restart();
    step = compute(batches, state, timer, data_seconds, requests, next);
  }
  const StepOutcome& outcome = step.outcome;
  state.skip = outcome.skipped;
  state.clip = options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (outcome.gradient_norm + 1e-6)) : 1.0;
  if (requests.before_update) requests.before_update();
  optimizer_.correct_bias(state, updates + 1);
  step.times.copy_wait += await_copies();
  update(state);
  if (!outcome.skipped) ++updates;
  if (exact_ && !outcome.skipped) exact_->end_step();
  post_reduce_time_ = timer.read();
  step.times.update = post_reduce_time_.passed - post_reduce_time_.waited;
  return step;
}

// Waits for a save under way to copy the buffers that the update changes. Returns the seconds that the host waited; a
// device's wait is read with the next step.
double TrainingStep::await_copies() {
  const auto began = std::chrono::steady_clock::now();
  const QueueSpan traced(model_.context(), SpanKind::Wait, "copies of a save under way");
  if (copies_) copies_->start();
  await_snapshots(model_.context());
  if (copies_) copies_->stop();
  return copies_ ? 0 : seconds_since(began);
}

bool TrainingStep::watched() const { return model_.context().timed() || model_.context().trace().on(); }

void TrainingStep::update(const StepState& state) {
  const QueueSpan traced(model_.context(), SpanKind::Phase, "update");
  if (!graphs_ || watched()) return optimizer_.update(state);
  graphs_->update(state, [this](const StepState& mirrored) { optimizer_.update(mirrored); });
}

}  // namespace weft
