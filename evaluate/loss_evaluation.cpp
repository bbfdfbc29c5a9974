// SPDX-License-Identifier: Apache-2.0
#include "evaluate/loss_evaluation.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/divide_up.h"
#include "kernels/transfer.h"
#include "model/batch_upload.h"

namespace weft {

namespace {

// The steps of an evaluation as one replica takes them: its share of each step, or of several steps one whole.
class Steps {
 public:
  Steps(const Mesh& mesh, const std::shared_ptr<const Dataset>& dataset, const EvaluationOptions& options)
      : leaves_(options.leaves), replica_(mesh.dp().rank()), replicas_(mesh.dp().size()) {
    // Each replica gets the same number of tokens on any layout, so that no replica is idle.
    EvaluationOptions of_all = options;
    if (!leaves_) of_all.step_tokens *= replicas_;
    plan_ = make_evaluation_plan(of_all, *dataset);
    loader_.emplace(LoaderOptions{.plan = plan_,
                                  .reader = make_reader(dataset, {.document_mask = options.document_mask}),
                                  .dp_rank = leaves_ ? 0 : replica_,
                                  .dp_size = leaves_ ? 1 : replicas_,
                                  .micro_batch_tokens = leaves_ ? 0 : options.step_tokens,
                                  .start = {.step = leaves_ ? std::min(replica_, count()) : 0},
                                  .every = leaves_ ? replicas_ : 1,
                                  .end_epoch = 1});
  }
  const BatchPlan& plan() const { return *plan_; }
  int64_t count() const { return plan_->steps_per_epoch(0); }
  // How often every replica calls next(): the last time some have nothing left.
  int64_t rounds() const { return leaves_ ? divide_up(count(), replicas_) : count(); }
  std::optional<StepBatches> next() { return loader_->next(); }

 private:
  bool leaves_;
  int64_t replica_, replicas_;
  std::shared_ptr<const BatchPlan> plan_;
  std::optional<Loader> loader_;
};

// The sums of a replica, on the device: one pair of them, or one for each leaf of the evaluation.
class Sums {
 public:
  Sums(Context& context, const Mesh& mesh, int64_t entries)
      : context_(context), mesh_(mesh), sums_(context.zeros({2 * entries}, DType::F64)) {}
  LossSums at(int64_t entry) const {
    return {.loss = sums_.slice(2 * entry, 2 * entry + 1), .nll = sums_.slice(2 * entry + 1, 2 * entry + 2)};
  }
  // One sum over the world, to which one shard of each replica contributes: all ranks must decide the same from it (a
  // save, the end), and sums within their dp groups might round differently. Of a leaf only one replica has more than
  // 0, so that these sums round nothing; those of leaves are added here, in their order.
  void add_to(LossReport& report) const {
    std::vector<double> all(static_cast<size_t>(sums_.elements()));
    download(context_, sums_, std::span<double>(all));
    if (!mesh_.first_of_replica()) std::ranges::fill(all, 0.0);
    mesh_.world().all_reduce_host(all, ReduceOp::Sum);
    for (size_t i = 0; i < all.size(); i += 2) report.loss += all[i], report.nll += all[i + 1];
  }

 private:
  Context& context_;
  const Mesh& mesh_;
  Tensor sums_;
};

void count(LossReport& report, int64_t targets, int64_t sequences) {
  report.steps += 1;
  report.targets += targets;
  report.sequences += sequences;
}

}  // namespace

LossReport evaluate_loss(Transformer& model, const std::shared_ptr<const Dataset>& dataset,
                         const EvaluationOptions& options, double label_smoothing,
                         const std::function<bool()>& give_up) {
  constexpr int64_t kStepsBetweenQuestions = 4;
  const auto start = std::chrono::steady_clock::now();
  Context& context = model.context();
  Mesh& mesh = model.parameters().mesh();
  Steps steps(mesh, dataset, options);
  const Sums sums(context, mesh, options.leaves ? steps.count() : 1);
  LossReport report{.left_out = left_out_of(steps.plan(), *dataset, options)};
  for (int64_t i = 0; i < steps.rounds(); ++i) {
    report.given_up = give_up && i % kStepsBetweenQuestions == 0 && give_up();
    if (report.given_up) break;
    const auto step = steps.next();
    if (!step) continue;
    if (!options.leaves) count(report, step->step_target_tokens, step->step_sequences);
    const LossSums loss = sums.at(options.leaves ? step->step_in_epoch : 0);
    for (const MicroBatch& micro : step->micro) {
      Tape tape(context, Tape::Mode::Off);
      ForwardContext forward{.tape = tape};
      model.loss(forward, to_device(model, micro, TokenUse::Forward), {.smoothing = label_smoothing}, loss);
    }
    mesh.progress();
  }
  mesh.settle();
  if (report.given_up) return report;
  for (int64_t i = 0; options.leaves && i < steps.count(); ++i) {
    const PlannedStep leaf = steps.plan().step(0, i);
    count(report, leaf.target_tokens(), std::ssize(leaf.sequences));
  }
  sums.add_to(report);
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace weft
