#include "trainer/training_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "evaluate/model_batch.h"
#include "kernels/elementwise.h"
#include "kernels/optimizer.h"
#include "kernels/transfer.h"
#include "parallel/gradient_norm.h"

namespace weft {

StepOptions step_options(const JobConfig& job) {
  return {
      .label_smoothing = job.train.label_smoothing, .clip_norm = job.train.clip_norm, .recompute = job.train.recompute};
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
      counted_gradients_(counted_gradients(model.parameters())),
      sums_(model.context().empty({3}, DType::F64)) {}

TrainingStep::~TrainingStep() = default;

ModelBatch TrainingStep::take(const StepBatches& batches, size_t micro) {
  if (!ahead_.is(batches, micro)) return to_device(model_, batches.micro[micro], TokenUse::Backward);
  return std::exchange(ahead_, {}).upload->arrive();
}

TrainingStep::Ahead TrainingStep::after(const StepBatches& batches, size_t micro, const StepBatches* next) {
  const bool last = micro + 1 == batches.micro.size();
  const StepBatches* const step = last ? next : &batches;
  const size_t index = last ? 0 : micro + 1;
  if (!step || index >= step->micro.size()) return {};
  return {.epoch = step->epoch,
          .step_in_epoch = step->step_in_epoch,
          .micro = index,
          .upload = std::make_unique<BatchUpload>(model_, step->micro[index], TokenUse::Backward)};
}

TrainingStep::Counts TrainingStep::forward_backward(const StepBatches& batches, const StepState& state,
                                                    const StepBatches* next) {
  Context& context = model_.context();
  fill(context, sums_, 0);
  const LossSums loss{.loss = sums_.slice(0, 1), .nll = sums_.slice(1, 2)};
  Counts counts;
  const auto mine = static_cast<int64_t>(batches.micro.size());
  // Replicas that divide their gradients reduce after every micro-batch, one that has fewer with the others.
  const int64_t rounds = std::max(mine, batches.most_micro);
  for (int64_t i = 0; i < rounds; ++i) {
    buckets_.begin_micro_batch(i + 1 == mine);
    if (i >= mine) {
      buckets_.end_micro_batch();
      continue;
    }
    const ModelBatch micro = take(batches, i);
    Ahead following = after(batches, i, next);  // before the device is given what the upload is to run beside
    const size_t held = context.memory().use().lent;
    Tape tape(context, Tape::Mode::Record, &buckets_);
    ForwardContext forward{.tape = tape, .step = state, .recompute = options_.recompute};
    model_.loss(forward, micro, options_.label_smoothing, loss);
    counts.activation_bytes = std::max(counts.activation_bytes, context.memory().use().lent - held);
    tape.backward();
    if (following.upload) following.upload->send();
    ahead_ = std::move(following);
    buckets_.end_micro_batch();
    counts.rows += (micro.source ? micro.source->count() : 0) + micro.input->count();
  }
  return counts;
}

void TrainingStep::probe_largest_step(const StepBatches& batches) {
  StepState state;
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  buckets_.begin_step();
  forward_backward(batches, state, &batches);
  ahead_ = {};
  buckets_.finish();
}

StepReport TrainingStep::report(const StepBatches& batches, const StepState& state, const Counts& counts,
                                const RankControl& times, const StepRequests& requests) {
  Context& context = model_.context();
  square_sum(context, {.parts = counted_gradients_, .out = sums_.slice(2, 3)});
  Mesh& mesh = model_.parameters().mesh();
  mesh.settle();
  std::array<double, 3> sums{};
  download(context, sums_, std::span<double>(sums));
  const double mine = mesh.tp().rank() == 0 ? 1 : 0;  // the shards of a replica see the same tokens
  const StepControl control = reduce_control(mesh.world(),
                                             {.loss = mine * sums[0],
                                              .nll = mine * sums[1],
                                              .tokens = mine * static_cast<double>(counts.rows),
                                              .squared_norm = sums[2],
                                              .stop_asked = requests.stop_asked ? 1.0 : 0.0,
                                              .save_written = requests.save_written ? 1.0 : 0.0,
                                              .save_due = requests.save_due ? 1.0 : 0.0},
                                             times);
  StepReport report;
  report.gradient_norm = std::sqrt(control.sums.squared_norm);
  report.loss = control.sums.loss * state.inverse_divisor;
  report.nll = control.sums.nll * state.inverse_divisor;
  report.rows = static_cast<int64_t>(control.sums.tokens);
  report.stop = control.sums.stop_asked > 0;
  report.save_written = control.sums.save_written == static_cast<double>(control.ranks.size());
  report.save_due = control.sums.save_due > 0;
  report.target_tokens = batches.step_target_tokens;
  report.activation_bytes = counts.activation_bytes;
  for (const RankControl& rank : control.ranks) {
    report.times.busy.push_back(rank.busy);
    report.times.data.push_back(rank.data);
    report.times.wait.push_back(rank.wait);
    report.exposed_seconds = std::max(report.exposed_seconds, rank.exposed);
  }
  report.skipped = !std::isfinite(report.gradient_norm) || !std::isfinite(report.loss);
  return report;
}

StepReport TrainingStep::run(const StepBatches& batches, StepState state, int64_t& updates, double data_seconds,
                             const StepRequests& requests, const StepBatches* next) {
  Timer timer(model_.parameters().mesh());
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  buckets_.begin_step();
  const Counts counts = forward_backward(batches, state, next);
  const double exposed = buckets_.finish();
  const Time before_reduce = timer.read();
  timer.restart();

  const double waited = before_reduce.waited + post_reduce_time_.waited;
  StepReport step = report(batches, state, counts,
                           {.busy = before_reduce.passed + post_reduce_time_.passed - waited,
                            .data = data_seconds,
                            .wait = waited,
                            .exposed = exposed},
                           requests);
  state.skip = step.skipped;
  state.clip = options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (step.gradient_norm + 1e-6)) : 1.0;
  optimizer_.correct_bias(state, updates + 1);
  optimizer_.update(state);
  if (!step.skipped) ++updates;
  post_reduce_time_ = timer.read();
  step.update_seconds = post_reduce_time_.passed - post_reduce_time_.waited;
  return step;
}

}  // namespace weft
