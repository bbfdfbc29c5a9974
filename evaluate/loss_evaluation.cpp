// SPDX-License-Identifier: Apache-2.0
#include "evaluate/loss_evaluation.h"

#include <array>
#include <chrono>
#include <span>

#include "base/clock.h"
#include "kernels/transfer.h"
#include "model/batch_upload.h"

namespace weft {

LossReport evaluate_loss(Transformer& model, const std::shared_ptr<const Dataset>& dataset,
                         const EvaluationOptions& options, double label_smoothing,
                         const std::function<bool()>& give_up) {
  constexpr int64_t kStepsBetweenQuestions = 4;
  const auto start = std::chrono::steady_clock::now();
  Context& context = model.context();
  Mesh& mesh = model.parameters().mesh();
  // Each replica gets the same number of tokens on any layout, so that no replica is idle.
  EvaluationOptions of_all = options;
  of_all.step_tokens *= mesh.dp().size();
  const auto plan = make_evaluation_plan(of_all, *dataset);
  Loader loader({.plan = plan,
                 .reader = make_reader(dataset, {.document_mask = options.document_mask}),
                 .dp_rank = mesh.dp().rank(),
                 .dp_size = mesh.dp().size(),
                 .micro_batch_tokens = options.step_tokens,
                 .end_epoch = 1});
  const Tensor device_sums = context.zeros({2}, DType::F64);
  const LossSums loss{.loss = device_sums.slice(0, 1), .nll = device_sums.slice(1, 2)};
  LossReport report{.left_out = left_out_of(*plan, *dataset, options)};
  for (int64_t i = 0;; ++i) {
    report.given_up = give_up && i % kStepsBetweenQuestions == 0 && give_up();
    if (report.given_up) break;
    const auto step = loader.next();
    if (!step) break;
    report.steps += 1;
    report.targets += step->step_target_tokens;
    report.sequences += step->step_sequences;
    for (const MicroBatch& micro : step->micro) {
      Tape tape(context, Tape::Mode::Off);
      ForwardContext forward{.tape = tape};
      model.loss(forward, to_device(model, micro, TokenUse::Forward), {.smoothing = label_smoothing}, loss);
    }
    mesh.progress();
  }
  mesh.settle();
  if (report.given_up) return report;
  // One sum over the world, to which one shard of each replica contributes: all ranks must decide the same from it (a
  // save, the end), and sums within their dp groups might round differently.
  std::array<double, 2> sums{};
  download(context, device_sums, std::span<double>(sums));
  if (!mesh.first_of_replica()) sums = {};
  mesh.world().all_reduce_host(sums, ReduceOp::Sum);
  report.loss = sums[0], report.nll = sums[1];
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace weft
