// SPDX-License-Identifier: Apache-2.0
#include "trainer/trainer.h"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/config/writer.h"
#include "base/log.h"
#include "checkpoint/attachments.h"
#include "checkpoint/retention.h"
#include "data/batches/mixture_report.h"
#include "job/dataset_checks.h"
#include "job/vocabularies.h"
#include "parallel/agree.h"
#include "parallel/parameters/finite_weights.h"
#include "trainer/run/beginning.h"
#include "trainer/run/restarts.h"
#include "trainer/run/rollback.h"

namespace weft {

namespace {

// The caller's clock, or one that counts seconds from now.
std::function<double()> clock_of(const RunSignals& signals) {
  if (signals.seconds) return signals.seconds;
  return [start = std::chrono::steady_clock::now()] { return seconds_since(start); };
}

}  // namespace

Trainer::Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin, RunSignals signals)
    : mesh_(mesh),
      job_(job),
      origin_(std::move(origin)),
      signals_(std::move(signals)),
      time_limit_(job.train.max_time, clock_of(signals_)),
      data_(open_training_data(job, mesh.world())),
      setup_(context, mesh, job, vocabularies_of(data_.train->header())),
      end_(run_end(job, *data_.plan, [this] { mesh_.heartbeat().beat(); })),
      directory_(job.run_directory(), mesh.world()),
      reporter_(job, setup_.parameters().global_elements(), context, mesh.world(), end_),
      saves_(job, setup_, directory_, reporter_, state_,
             {.job = to_yaml(job),
              .provenance = run_provenance(origin_, *data_.train),
              .attachments = tokenizer_attachments(*data_.source_tokenizer, *data_.target_tokenizer)}),
      trace_(job, context, mesh, directory_, reporter_),
      bits_(setup_.step(), mesh, context, job.train.verify_every, numerics_fingerprint(job, mesh, context).dump()),
      algorithms_file_(job, context, mesh.world()) {
  check_leaves(job, *data_.plan, 0, mesh.dp().size());
  if (data_.valid) validation_ = std::make_unique<Validation>(job, data_, setup_);
  check_prompts(job, *data_.source_tokenizer, *data_.target_tokenizer);
}

TrainResult Trainer::result() const {
  return {.exit = stop_ ? ExitCode::Preempted : ExitCode::Done,
          .step = state_.step,
          .max_steps = end_.max_steps,
          .last_checkpoint = saves_.last_checkpoint(),
          .best_loss = state_.best_loss,
          .best_score = state_.best_score,
          .out_of_time = out_of_time_};
}

// Nothing is written before everything that can be wrong with a checkpoint has been checked, so that a run that cannot
// begin leaves nothing behind.
void Trainer::begin(const ResumeChoice& choice) {
  directory_.take(job_.checkpoint.lock_wait_seconds);
  directory_.require_visible();
  if (mesh_.world().rank() == 0) clear_unfinished(directory_.checkpoints());
  Resume resume(job_, data_, setup_, directory_, end_);
  const Beginning beginning = resume.begin(choice);
  take_state(beginning);
  saves_.resumed_from(beginning.checkpoint, beginning.digest);
  saves_.begun_from(beginning.init_from);
  const bool told = choice.kind == ResumeChoice::Kind::Path && *beginning.checkpoint == choice.path;
  saves_.branched_from(told ? branch_name(choice.path) : beginning.branch_of);
  if (choice.kind == ResumeChoice::Kind::Path) {
    if (!told && mesh_.world().rank() == 0) {
      log_info("this run has saved more since it began at {}; to begin there again, move those checkpoints away",
               choice.path.string());
    }
    if (const auto step = step_named_by_command(mesh_.world(), directory_, choice.path)) saves_.pin(*step);
  }
  if (end_.reached(state_)) return;
  algorithms_file_.read();
  directory_.create();
  agree(mesh_.world(), [&] {
    count_restart(directory_.path(), state_.step, told, job_.train.max_restarts);
    return std::string();
  });
  if (told) {
    set_aside_later_than(mesh_.world(), directory_, *beginning.checkpoint);
  } else {
    note_beginning(mesh_.world(), directory_, beginning);
  }
  if (mesh_.world().rank() == 0) {
    log_info("{}", describe_plan(
                       *data_.plan, mesh_.dp().size(), job_.batch.most_tokens_at_once(),
                       [this] { mesh_.heartbeat().beat(); }, padding_of(job_, setup_.context()), job_.batch.cut()));
    const auto sources = source_reports(*data_.train, *data_.plan, state_.position);
    if (!sources.empty()) log_info("{}", describe_sources(sources, data_.train->header().kind));
  }
  saves_.check_space(data_.valid != nullptr);
  saves_.begin();
  begin_reporting();
}

void Trainer::take_state(const Beginning& beginning) {
  state_ = beginning.state;
  bits_.forget_state();
  if (ExactStep* exact = setup_.step().exact()) exact->restore(state_.exponents);
}

void Trainer::begin_reporting() {
  const auto& provenance = saves_.header().provenance;
  if (mesh_.world().rank() == 0) directory_.write_run_files(job_, state_.run, provenance);
  reporter_.begin(directory_.path(), state_, directory_.attempt(), provenance);
}

TrainResult Trainer::run(const ResumeChoice& resume, const StepObserver& after_step) {
  begin(resume);
  const Heartbeat::Scope stepping(mesh_.heartbeat(), RunPhase::Step);
  mesh_.heartbeat().set_step(state_.step);
  try {
    train_if_not_done(after_step);
  } catch (const std::exception& error) {
    tell_failure(error);
    throw;
  }
  return result();
}

void Trainer::tell_failure(const std::exception& error) {
  if (signals_.failed && !failure_told_) signals_.failed(error);
  failure_told_ = true;
}

void Trainer::train_if_not_done(const StepObserver& after_step) {
  if (!end_.reached(state_)) {
    train(after_step);
  } else {
    log_info("nothing to do: step {} of {}{}", state_.step, end_.max_steps,
             state_.step < end_.max_steps ? fmt::format("; {} evaluations in a row were not better, as "
                                                        "evaluation.patience allows",
                                                        state_.evaluations_since_best)
                                          : "");
  }
}

void Trainer::train(const StepObserver& after_step) {
  probe_largest_step(setup_, data_, job_, state_.position.epoch);
  settle_algorithms(setup_.context(), mesh_.world());
  algorithms_file_.keep();
  if (state_.evaluation_left) evaluate();
  try {
    while (!run_steps(after_step)) roll_back();
    trace_.end();
  } catch (const DivergenceError&) {
    keep_last_save();
    throw;
  }
  if (!stop_ && evaluated_step_ != state_.step) evaluate();
  if (evaluated_step_ != state_.step) report_sources();
  save();
  commit_save(true);
  reporter_.clear();
  reporter_.then(signals_.logged);
  const Heartbeat::Scope storing(mesh_.heartbeat(), RunPhase::Storage);
  reporter_.finish();
  trace_.finish();
  algorithms_file_.finish();
}

void Trainer::repeat(const Repetition& repetition) {
  take_state(Resume(job_, data_, setup_, directory_, end_).begin(repetition.from));
  algorithms_file_.read();
  const Heartbeat::Scope stepping(mesh_.heartbeat(), RunPhase::Step);
  mesh_.heartbeat().set_step(state_.step);
  probe_largest_step(setup_, data_, job_, state_.position.epoch);
  settle_algorithms(setup_.context(), mesh_.world());
  Loader loader = make_loader(job_, mesh_, setup_.context(), data_.plan, data_.reader, state_.position);
  for (const int64_t step : repetition.steps) {
    repeat_until(step, loader);
    reporter_.clear();
    const Heartbeat::Scope looking(mesh_.heartbeat(), RunPhase::Save);
    if (!repetition.look(state_, setup_)) return;
  }
}

void Trainer::repeat_until(int64_t step, Loader& loader) {
  while (state_.step < step) {
    const double before = loader.waited_seconds();
    const auto batches = next_of(loader);
    train_step(*batches, loader.ready(), loader.waited_seconds() - before);
    require<DivergenceError>(!must_roll_back(), "step {}: {}", state_.step, divergence());
  }
}

// The save under way holds the state from before the divergence. All ranks have diverged together.
void Trainer::keep_last_save() {
  try {
    commit_save();
  } catch (const DataError& error) {
    log_warning("{}", describe(error));
  }
}

std::optional<StepBatches> Trainer::next_of(Loader& loader) {
  if (loader.ready()) return loader.next();
  const Heartbeat::Scope storing(mesh_.heartbeat(), RunPhase::Storage);
  const HostSpan waiting(setup_.context().trace(), SpanKind::Data, "the next step's tokens");
  return loader.next();
}

bool Trainer::run_steps(const StepObserver& after_step) {
  Loader loader = make_loader(job_, mesh_, setup_.context(), data_.plan, data_.reader, state_.position);
  try {
    return run_steps_of(loader, after_step);
  } catch (const DivergenceError&) {
    throw;  // told once the save under way is kept
  } catch (const std::exception& error) {
    tell_failure(error);
    throw;
  }
}

bool Trainer::run_steps_of(Loader& loader, const StepObserver& after_step) {
  while (!end_.reached(state_) && !stop_) {
    const double before = loader.waited_seconds();
    trace_.before(state_.step + 1);
    const auto batches = next_of(loader);
    train_step(*batches, loader.ready(), loader.waited_seconds() - before);
    if (must_roll_back()) return false;
    if (after_step) after_step(state_.step);
    do_what_is_due();
    trace_.after(state_.step);
    if (must_roll_back()) return false;
  }
  weights_are_finite_ = stop_ || finite_weights(setup_.parameters());
  return !must_roll_back();
}

// A stop skips evaluation, generations and save; train() saves after the loop.
void Trainer::do_what_is_due() {
  if (stop_) {
    state_.evaluation_left = data_.valid && (evaluation_due() || end_.reached(state_));
    return;
  }
  if (evaluation_due()) evaluate();
  if (!stop_ && is_due(state_, job_.log.generations.every_steps, 0)) print_generations();
  if (stop_) return;
  algorithms_file_.keep();
  // While steps are skipped, the weights are those that may be the reason: the save waits for a step that is not.
  save_owed_ = (save_owed_ || save_due()) && !end_.reached(state_);
  if (save_owed_ && state_.skips_in_row == 0) save();
}

void Trainer::train_step(const StepBatches& batches, const StepBatches* next, double data_seconds) {
  const auto began = std::chrono::steady_clock::now();
  const QueueSpan traced(setup_.context(), SpanKind::Phase, "step", state_.step + 1);
  StepState step;
  step.learning_rate = learning_rate(job_.schedule, state_.step, end_.max_steps);
  step.dropout_key = dropout_key(job_.seed, state_.step);
  const int64_t number = state_.step + 1;
  const StepReport report = setup_.step().run(batches, step, state_.updates, data_seconds,
                                              {.stop_asked = stop_asked(),
                                               .save = saves_.states(),
                                               .save_due = saves_.due_by_clock(),
                                               .limits = spike_limits(job_.train.spikes, state_),
                                               .before_update = bits_.before(
                                                   number, [this](int replica) { return read_again(replica); }, step)},
                                              next);
  if (const auto took = bits_.after(number, [this] { return setup_.checkpoint_buffers(); })) {
    reporter_.checked(number, *took);
  }
  const double seconds = seconds_since(began) + data_seconds;
  time_limit_.stepped(seconds);
  const StepOutcome& outcome = report.outcome;
  count_step(batches, outcome);
  if (const ExactStep* exact = setup_.step().exact()) state_.exponents = exact->exponents();
  if (saves_.stepped(outcome.save, report.times.copy_wait)) time_limit_.save_committed();
  if (outcome.skipped) reporter_.skipped(state_, outcome, {batches.epoch, batches.step_in_epoch});
  reporter_.stepped(state_, report, step.learning_rate, seconds, end_.reached(state_) || stop_);
}

// The tokens are read again, so that those in memory count too.
StepBatches Trainer::read_again(int replica) {
  const PlannedStep step = data_.plan->step(state_.position.epoch, state_.position.step);
  return read_share(job_, setup_.context(), step, *data_.reader, replica, mesh_.dp().size());
}

void Trainer::count_step(const StepBatches& batches, const StepOutcome& outcome) {
  state_.step += 1;
  mesh_.heartbeat().set_step(state_.step);
  state_.position = data_.plan->after({batches.epoch, batches.step_in_epoch});
  state_.epoch_end = state_.position.step == 0;
  state_.target_tokens += outcome.target_tokens;
  state_.skips += outcome.skipped;
  state_.skips_in_row = outcome.skipped ? state_.skips_in_row + 1 : 0;
  if (!outcome.skipped) note_recent(job_.train.spikes, outcome.loss, outcome.gradient_norm, state_);
  note_stop(outcome.stop);
  save_due_now_ = outcome.save_due;
}

bool Trainer::stop_asked() const { return signals_.stop_asked() || time_limit_.up(); }

bool Trainer::agree_to_stop() {
  std::array<double, 1> asked{stop_asked() ? 1.0 : 0.0};
  mesh_.world().all_reduce_host(asked, ReduceOp::Sum);
  note_stop(asked[0] > 0);
  return stop_;
}

void Trainer::note_stop(bool stop) {
  if (stop && !stop_) out_of_time_ = time_limit_.up();
  stop_ = stop_ || stop;
}

// Every rank decides the same, from the sums of the control all-reduces. A run that is asked to stop saves its state as
// it is; the start that resumes from that save rolls back.
bool Trainer::must_roll_back() const {
  const TrainConfig& train = job_.train;
  if (weights_are_finite_ && state_.skips_in_row <= train.max_nonfinite_steps) return false;
  const bool asked = train.on_divergence == OnDivergence::RollBack;
  if (asked && state_.rollbacks < train.max_rollbacks) return !stop_;
  throw DivergenceError(
      fmt::format("step {}: {}{}", state_.step, divergence(),
                  asked ? fmt::format(", after {} rollbacks", state_.rollbacks) : ""),
      "lower schedule.learning_rate, lengthen the warm-up, or set train.clip_norm; the last checkpoint is intact");
}

std::string Trainer::divergence() const {
  if (!weights_are_finite_) return "weights are not finite";
  return fmt::format("{} steps in a row had a loss or gradient that is not finite{}", state_.skips_in_row,
                     job_.train.spikes.window > 0 ? ", or a spike (train.spikes)" : "");
}

// The same data would diverge again, so the run continues with the data after the skipped steps.
void Trainer::roll_back() {
  const RunState diverged = state_;
  trace_.end();
  commit_save();
  mesh_.settle();  // devices finish their work on the weights before a checkpoint overwrites the weights
  const std::string path = agree(mesh_.world(), [&] {
    std::string good = last_good_checkpoint(directory_.checkpoints());
    if (!good.empty()) return good;
    throw DivergenceError(
        fmt::format("step {}: {}, and there is no checkpoint from before to roll back to", diverged.step, divergence()),
        "save more often (checkpoint.every_steps), or lower schedule.learning_rate");
  });
  const Heartbeat::Scope loading(mesh_.heartbeat(), RunPhase::Init);
  const Beginning beginning =
      Resume(job_, data_, setup_, directory_, end_).begin({.kind = ResumeChoice::Kind::Exactly, .path = path});
  take_state(beginning);
  weights_are_finite_ = true;
  save_owed_ = false;
  state_.position = diverged.position;
  state_.skips = diverged.skips;
  state_.rollbacks = diverged.rollbacks + 1;
  set_aside_later_than(mesh_.world(), directory_, path);
  saves_.resumed_from(path, beginning.digest);
  saves_.begin();
  mesh_.heartbeat().set_step(state_.step);
  reporter_.rolled_back(state_, diverged.step);
}

bool Trainer::evaluation_due() const {
  return is_due(state_, job_.evaluation.every_steps, job_.evaluation.every_epochs);
}

bool Trainer::save_due() const {
  return stop_ || save_due_now_ || is_due(state_, job_.checkpoint.every_steps, job_.checkpoint.every_epochs);
}

void Trainer::evaluate() {
  if (!validation_) return;
  const Heartbeat::Scope evaluating(mesh_.heartbeat(), RunPhase::Evaluate);
  const QueueSpan traced(setup_.context(), SpanKind::Phase, "evaluation");
  const auto report = validation_->measure([this] { return agree_to_stop(); });
  state_.evaluation_left = !report.has_value();
  if (!report) return;
  evaluated_step_ = state_.step;
  const bool better = count_evaluation(*report, job_.evaluation.metric, state_);
  reporter_.evaluated(state_, *report, better);
  report_sources();
  reporter_.then(signals_.logged);
  if (better && job_.checkpoint.keep_best && !end_.reached(state_)) save();
}

void Trainer::report_sources() {
  reporter_.sources(state_, source_reports(*data_.train, *data_.plan, state_.position));
}

// The constructor has refused prompts that cannot be encoded (check_prompts).
void Trainer::print_generations() {
  const Heartbeat::Scope generating(mesh_.heartbeat(), RunPhase::Evaluate);
  const QueueSpan traced(setup_.context(), SpanKind::Phase, "generations");
  setup_.parameters().finish_weight_gather();
  generate_from_prompts(
      {setup_.model(), job_, *data_.source_tokenizer, *data_.target_tokenizer}, [this] { return agree_to_stop(); },
      [this](const Generation& generation) { reporter_.generated(state_, generation); });
  reporter_.generated_all(state_);
}

// Weights that are not finite are never saved: the run goes back to a checkpoint that was saved before them.
void Trainer::save() {
  save_owed_ = false;
  weights_are_finite_ = finite_weights(setup_.parameters());
  if (!weights_are_finite_) {
    if (stop_ && mesh_.world().rank() == 0) {
      log_warning("step {} is not saved: weights are not finite. The next start resumes from the last checkpoint",
                  state_.step);
    }
    return;
  }
  state_.next_learning_rate = learning_rate(job_.schedule, state_.step, end_.max_steps);
  algorithms_file_.keep();
  time_limit_.save_begun();
  saves_.start();
}

void Trainer::commit_save(bool last) {
  saves_.commit(last);
  time_limit_.save_committed();
}

}  // namespace weft
