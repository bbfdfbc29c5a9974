#include "trainer/training_step.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "evaluate/model_batch.h"
#include "parallel/gradient_norm.h"

namespace weft {

StepOptions step_options(const JobConfig& job) {
  return {
      .label_smoothing = job.train.label_smoothing, .clip_norm = job.train.clip_norm, .recompute = job.train.recompute};
}

class TrainingStep::Timer {
 public:
  explicit Timer(const Mesh& mesh) : mesh_(mesh) { restart(); }
  void restart() { start_ = std::chrono::steady_clock::now(), waited_ = mesh_.waited_seconds(); }
  Time read() const {
    return {.passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
            .waited = mesh_.waited_seconds() - waited_};
  }

 private:
  const Mesh& mesh_;
  std::chrono::steady_clock::time_point start_;
  double waited_ = 0;
};

TrainingStep::TrainingStep(Transformer& model, Optimizer& optimizer, const StepOptions& options)
    : model_(model), optimizer_(optimizer), options_(options), buckets_(model.parameters()) {}

TrainingStep::LocalSums TrainingStep::forward_backward(const StepBatches& batches, const StepState& state) {
  Context& context = model_.context();
  LocalSums sums;
  const bool counts = model_.parameters().mesh().tp().rank() == 0;  // its shards see the same rows
  const auto mine = static_cast<int64_t>(batches.micro.size());
  // Replicas that divide their gradients reduce after every micro-batch, one that has fewer with the others.
  const int64_t rounds = std::max(mine, batches.most_micro);
  for (int64_t i = 0; i < rounds; ++i) {
    buckets_.begin_micro_batch(i + 1 == mine);
    if (i >= mine) {
      buckets_.end_micro_batch();
      continue;
    }
    const MicroBatch& micro = batches.micro[i];
    const size_t held = context.memory().use().now;
    Tape tape(context, Tape::Mode::Record, &buckets_);
    ForwardContext forward{.tape = tape, .state = &state, .recompute = options_.recompute};
    const LossSums loss = model_.loss(forward, to_device(context, micro),
                                      {.smoothing = options_.label_smoothing, .scale = state.inverse_divisor});
    sums.activation_bytes = std::max(sums.activation_bytes, context.memory().use().now - held);
    tape.backward();
    buckets_.end_micro_batch();
    if (counts) sums.rows += micro.source.num_tokens() + micro.input.num_tokens();
    if (context.meta() || !counts) continue;
    // Both sums were finished by the forward pass: reading them here holds nothing up on this device.
    sums.loss += loss.loss.data<double>()[0];
    sums.nll += loss.nll.data<double>()[0];
  }
  return sums;
}

void TrainingStep::probe_largest_step(const StepBatches& batches) {
  StepState state;
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  buckets_.begin_step();
  forward_backward(batches, state);
  buckets_.finish();
}

StepReport TrainingStep::run(const StepBatches& batches, StepState& state, int64_t& updates, double data_seconds,
                             const StepRequests& requests) {
  Timer timer(model_.parameters().mesh());
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  buckets_.begin_step();
  const LocalSums sums = forward_backward(batches, state);
  const double exposed = buckets_.finish();
  const Time head = timer.read();
  timer.restart();

  // The one control all-reduce: sums, requests, and a place for each rank's timings.
  Communicator& world = model_.parameters().mesh().world();
  const auto ranks = static_cast<size_t>(world.size()), me = static_cast<size_t>(world.rank());
  constexpr size_t kSums = 6;
  constexpr size_t kTimes = 4;
  std::vector<double> control(kSums + kTimes * ranks, 0);
  control[0] = sums.loss, control[1] = sums.nll, control[2] = static_cast<double>(sums.rows),
  control[3] = requests.stop_asked;
  control[4] = requests.save_written;
  control[5] = squared_norm_share(model_.parameters());
  const double waited = head.waited + tail_.waited;
  const std::array<double, kTimes> mine = {head.passed + tail_.passed - waited, data_seconds, waited, exposed};
  for (size_t i = 0; i < mine.size(); ++i) control[kSums + i * ranks + me] = mine[i];
  world.all_reduce_host(control.data(), static_cast<int64_t>(control.size()), ReduceOp::Sum);

  StepReport report;
  report.gradient_norm = std::sqrt(control[5]);
  report.loss = control[0] * state.inverse_divisor;
  report.nll = control[1] * state.inverse_divisor;
  report.rows = static_cast<int64_t>(control[2]);
  report.stop = control[3] > 0;
  report.save_written = control[4] == static_cast<double>(ranks);
  report.target_tokens = batches.step_target_tokens;
  report.activation_bytes = sums.activation_bytes;
  const auto by_rank = [&](size_t i) {
    const auto first = control.begin() + static_cast<int64_t>(kSums + i * ranks);
    return std::vector<double>(first, first + static_cast<int64_t>(ranks));
  };
  report.times = {.busy = by_rank(0), .data = by_rank(1), .wait = by_rank(2)};
  report.exposed_seconds = std::ranges::max(by_rank(3));
  report.skipped = !std::isfinite(report.gradient_norm) || !std::isfinite(report.loss);

  state.skip = report.skipped;
  state.clip = options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (report.gradient_norm + 1e-6)) : 1.0;
  optimizer_.correct_bias(state, updates + 1);
  optimizer_.update(state);
  if (!report.skipped) ++updates;
  tail_ = timer.read();
  report.update_seconds = tail_.passed - tail_.waited;
  return report;
}

}  // namespace weft
