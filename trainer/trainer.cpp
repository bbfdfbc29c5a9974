#include "trainer/trainer.h"

#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/config/writer.h"
#include "base/log.h"
#include "base/signals.h"
#include "checkpoint/retention.h"
#include "job/vocabularies.h"
#include "parallel/agree.h"

namespace weft {

Trainer::Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin)
    : mesh_(mesh),
      job_(job),
      origin_(std::move(origin)),
      data_(open_training_data(job)),
      setup_(context, mesh, job, vocabularies_of(data_.train->header())),
      end_(run_end(job, *data_.plan)),
      directory_(job.run_directory(), mesh.world()),
      reporter_(job, context, mesh.world(), end_),
      saves_(job, setup_, directory_, reporter_, state_,
             {.job = to_yaml(job),
              .provenance = run_provenance(origin_, job, data_.train->header()),
              .attachments = data_.tokenizers}),
      algorithms_file_(job, context, mesh.world()) {
  if (job.log.generations.every_steps > 0) sample_writer_ = make_sample_writer(job, mesh.world().rank() == 0);
}

TrainResult Trainer::result() const {
  return {.exit = stop_ ? ExitCode::Preempted : ExitCode::Done,
          .step = state_.step,
          .max_steps = end_.max_steps,
          .last_checkpoint = saves_.last_checkpoint(),
          .best_loss = state_.best_loss};
}

// What is written comes after all that can be wrong with a checkpoint: a run that cannot begin leaves nothing behind.
void Trainer::begin(const ResumeChoice& choice) {
  const bool is_rank0 = mesh_.world().rank() == 0;
  directory_.take(job_.checkpoint.lock_wait_seconds);
  if (is_rank0) clear_unfinished(directory_.checkpoints());
  Resume resume(job_, data_, setup_, directory_, end_);
  const Beginning beginning = resume.begin(choice);
  state_ = beginning.state;
  saves_.resumed_from(beginning.checkpoint);
  saves_.begun_from(beginning.init_from);
  if (end_.reached(state_)) return;
  algorithms_file_.read();
  directory_.create();
  if (choice.kind == ResumeChoice::Kind::Path) set_aside_later_than(*beginning.checkpoint);
  saves_.check_space(data_.valid != nullptr);
  saves_.begin();
  const auto& provenance = saves_.header().provenance;
  if (is_rank0) directory_.write_run_files(job_, state_.run, provenance);
  reporter_.begin(directory_.path(), state_, directory_.attempt(), provenance);
}

void Trainer::set_aside_later_than(const fs::path& checkpoint) const {
  agree(mesh_.world(), [&] {
    const std::vector<fs::path> moved = set_aside_later(directory_.checkpoints(), checkpoint, directory_.attempt());
    std::vector<std::string> names;
    for (const fs::path& path : moved) names.push_back(path.filename());
    if (!names.empty()) {
      log_info("checkpoints that were saved after {} are set aside: {}", checkpoint.string(), fmt::join(names, ", "));
    }
    return std::string();
  });
}

TrainResult Trainer::run(const ResumeChoice& resume, const StepObserver& after_step) {
  begin(resume);
  const Heartbeat::Scope stepping(mesh_.heartbeat(), RunPhase::Step);
  mesh_.heartbeat().set_step(state_.step);
  if (!end_.reached(state_)) {
    train(after_step);
  } else {
    log_info("nothing to do: step {} of {}{}", state_.step, end_.max_steps,
             state_.step < end_.max_steps ? fmt::format("; {} evaluations in a row were not better, as "
                                                        "evaluation.patience allows",
                                                        state_.evaluations_since_best)
                                          : "");
  }
  return result();
}

void Trainer::train(const StepObserver& after_step) {
  Loader loader = make_loader(job_, mesh_, data_.plan, make_reader(data_.train), state_.position);
  log_info("{}", describe_plan(*data_.plan, mesh_.dp().size(), job_.batch.micro_batch_tokens));
  probe_largest_step(setup_, data_, job_, state_.position.epoch);
  settle_algorithms(setup_.context(), mesh_.world());
  algorithms_file_.keep();
  double waited = 0;
  while (!end_.reached(state_) && !stop_) {
    const auto batches = loader.next();
    const double data_seconds = loader.waited_seconds() - waited;
    waited = loader.waited_seconds();
    train_step(*batches, loader.ready(), data_seconds);
    if (after_step) after_step(state_.step);
    if (evaluation_due()) evaluate();
    if (sample_writer_ && is_due(state_, job_.log.generations.every_steps, 0)) print_samples();
    algorithms_file_.keep();
    if (save_due() && !end_.reached(state_)) save();
  }
  if (!stop_ && !evaluation_due()) evaluate();
  save();
  saves_.commit(true);
  reporter_.clear();
}

void Trainer::train_step(const StepBatches& batches, const StepBatches* next, double data_seconds) {
  const auto began = std::chrono::steady_clock::now();
  StepState step;
  step.learning_rate = learning_rate(job_.schedule, state_.step, end_.max_steps);
  step.dropout_key = dropout_key(job_.seed, state_.step);
  const StepReport report = setup_.step().run(
      batches, step, state_.updates, data_seconds,
      {.stop_asked = StopSignals::stop_asked(), .save = saves_.states(), .save_due = saves_.due_by_clock()}, next);
  const double seconds = seconds_since(began) + data_seconds;
  count_step(batches, report);
  saves_.stepped(report.save, report.copy_wait_seconds);
  if (report.skipped) reporter_.skipped(state_, report, {batches.epoch, batches.step_in_epoch});
  if (state_.skips_in_row > job_.train.max_nonfinite_steps) {
    throw DivergenceError(
        fmt::format("step {}: {} steps in a row had a loss or gradient that is not finite", state_.step,
                    state_.skips_in_row),
        "lower schedule.learning_rate, lengthen the warm-up, or set train.clip_norm; the last checkpoint is intact");
  }
  reporter_.stepped(state_, report, step.learning_rate, seconds, end_.reached(state_) || stop_);
}

void Trainer::count_step(const StepBatches& batches, const StepReport& report) {
  state_.step += 1;
  mesh_.heartbeat().set_step(state_.step);
  state_.position = data_.plan->after({batches.epoch, batches.step_in_epoch});
  state_.epoch_end = state_.position.step == 0;
  state_.target_tokens += report.target_tokens;
  state_.skips += report.skipped;
  state_.skips_in_row = report.skipped ? state_.skips_in_row + 1 : 0;
  stop_ = report.stop;
  save_due_now_ = report.save_due;
}

bool Trainer::evaluation_due() const {
  return is_due(state_, job_.evaluation.every_steps, job_.evaluation.every_epochs);
}

bool Trainer::save_due() const {
  return stop_ || save_due_now_ || is_due(state_, job_.checkpoint.every_steps, job_.checkpoint.every_epochs);
}

void Trainer::evaluate() {
  if (!data_.valid) return;
  const Heartbeat::Scope evaluating(mesh_.heartbeat(), RunPhase::Evaluate);
  const EvaluationOptions options{.context_length = job_.batch.context_length,
                                  .max_sequences = job_.evaluation.max_sequences};
  LossReport report = evaluate_loss(setup_.model(), data_.valid, options, job_.train.label_smoothing);
  while (settle_algorithms(setup_.context(), mesh_.world())) {
    report = evaluate_loss(setup_.model(), data_.valid, options, job_.train.label_smoothing);
  }
  const bool better = report.mean_nll() < state_.best_loss;
  state_.evaluations_since_best = better ? 0 : state_.evaluations_since_best + 1;
  if (better) state_.best_loss = report.mean_nll(), state_.best_step = state_.step;
  reporter_.evaluated(state_, report, better);
  if (better && job_.checkpoint.keep_best && !end_.reached(state_)) save();
}

void Trainer::print_samples() {
  reporter_.clear();
  const Heartbeat::Scope sampling(mesh_.heartbeat(), RunPhase::Evaluate);
  sample_writer_(setup_.model(), state_.step);
}

void Trainer::save() {
  state_.next_learning_rate = learning_rate(job_.schedule, state_.step, end_.max_steps);
  algorithms_file_.keep();
  saves_.start();
}

}  // namespace weft
