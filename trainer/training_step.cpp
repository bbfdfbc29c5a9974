#include "trainer/training_step.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "kernels/optimizer.h"

namespace weft {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ModelBatch to_device(Context& context, const MicroBatch& batch) {
  ModelBatch out;
  if (batch.source.sequences() > 0) {
    out.source = make_rows(context, batch.source.tokens, batch.source.offsets, batch.samples);
  }
  out.input = make_rows(context, batch.input.tokens, batch.input.offsets, batch.samples);
  out.targets = context.empty({out.input.count()}, DType::I32);
  if (!context.meta()) std::ranges::copy(batch.targets, out.targets.data<int32_t>());
  return out;
}

TrainingStep::TrainingStep(Transformer& model, Optimizer& optimizer, const StepOptions& options)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      buckets_(model.parameters(), options.bucket_bytes) {}

TrainingStep::LocalSums TrainingStep::forward_backward(const StepBatches& batches, const StepState& state) {
  Context& context = model_.context();
  LocalSums sums;
  for (const MicroBatch& micro : batches.micro) {
    if (&micro == &batches.micro.back()) buckets_.begin_last_micro_batch();
    Tape tape(context, Tape::Mode::Record, &buckets_);
    Pass pass{.tape = tape, .state = &state, .recompute_blocks = options_.recompute};
    const LossSums loss = model_.loss(pass, to_device(context, micro),
                                      {.smoothing = options_.label_smoothing, .scale = state.inverse_divisor});
    tape.backward();
    sums.rows += micro.source.rows() + micro.input.rows();
    if (context.meta()) continue;
    // Both sums were finished by the forward pass: reading them here holds nothing up on this device.
    sums.loss += loss.loss.data<double>()[0];
    sums.nll += loss.nll.data<double>()[0];
  }
  return sums;
}

double TrainingStep::gradient_norm() {
  Context& context = model_.context();
  const Tensor sum = context.empty({1}, DType::F64);
  square_sum(context, {.x = model_.parameters().flat_gradient(), .out = sum});
  return context.meta() ? 0 : std::sqrt(sum.data<double>()[0]);
}

StepReport TrainingStep::run(const StepBatches& batches, StepState& state, int64_t& updates, double data_seconds,
                             bool stop_asked) {
  const auto start = std::chrono::steady_clock::now();
  state.inverse_divisor = 1.0 / static_cast<double>(std::max<int64_t>(batches.step_target_tokens, 1));
  buckets_.begin_step();
  const LocalSums sums = forward_backward(batches, state);
  const double exposed = buckets_.finish();
  const double seconds = seconds_since(start);

  Mesh& mesh = model_.parameters().mesh();
  std::array<double, 6> total = {sums.loss, sums.nll, static_cast<double>(sums.rows), stop_asked ? 1.0 : 0.0, seconds,
                                 0};
  mesh.world().all_reduce_host(total.data(), static_cast<int64_t>(total.size()), ReduceOp::Sum);

  StepReport report;
  report.gradient_norm = gradient_norm();  // of the summed gradients: the same on every rank
  report.loss = total[0] * state.inverse_divisor;
  report.nll = total[1] * state.inverse_divisor;
  report.rows = static_cast<int64_t>(total[2]);
  report.stop = total[3] > 0;
  report.target_tokens = batches.step_target_tokens;
  report.step_seconds_mean = total[4] / mesh.world().size();
  report.step_seconds_max = seconds;
  report.data_seconds_max = data_seconds;
  report.exposed_seconds_max = exposed;
  report.skipped = !std::isfinite(report.gradient_norm) || !std::isfinite(report.loss);

  state.skip = report.skipped;
  state.clip = options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (report.gradient_norm + 1e-6)) : 1.0;
  optimizer_.correct_bias(state, updates + 1);
  optimizer_.update(state);
  if (!report.skipped) ++updates;
  return report;
}

}  // namespace weft
