#include "trainer/trainer.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/signals.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/loss_evaluation.h"
#include "job/dataset_checks.h"
#include "job/vocabularies.h"

namespace weft {

using Json = nlohmann::ordered_json;

Trainer::Trainer(Context& context, Mesh& mesh, const JobConfig& job, RunOrigin origin)
    : context_(context),
      mesh_(mesh),
      job_(job),
      origin_(std::move(origin)),
      directory_(job.run_directory()),
      checkpoints_(directory_ / "checkpoints"),
      progress_(mesh.world().rank() == 0) {
  train_ = std::make_shared<const Dataset>(Dataset::open(job.data.directory, "train"));
  const auto splits = Dataset::splits(job.data.directory);
  if (std::ranges::find(splits, "valid") != splits.end()) {
    valid_ = std::make_shared<const Dataset>(Dataset::open(job.data.directory, "valid"));
  }
  check_job_against(job, train_->header());
  tokenizers_ = {{"source-tokenizer.json", train_->load_source_tokenizer()->to_json()},
                 {"target-tokenizer.json", train_->load_target_tokenizer()->to_json()}};
  plan_ = make_batch_plan(job.batch, *train_, static_cast<uint64_t>(job.seed));
  model_ = make_model(context, mesh, job.model, vocabularies_of(train_->header()), job.parallel.sequence_parallel);
  model_->allocate(job.train.precision, true, job.parallel.sharding());
  optimizer_ = std::make_unique<Optimizer>(context, model_->parameters(), job.optimizer);
  step_ = std::make_unique<TrainingStep>(*model_, *optimizer_, step_options(job));
  writer_ = std::make_unique<CheckpointWriter>(checkpoints_, context, mesh.world());
  max_steps_ = count_steps();
}

int64_t Trainer::count_steps() const {
  if (job_.train.max_epochs == 0) return job_.train.max_steps;
  int64_t steps = 0;
  for (int64_t e = 0; e < job_.train.max_epochs; ++e) steps += plan_->steps_per_epoch(e);
  return job_.train.max_steps > 0 ? std::min(steps, job_.train.max_steps) : steps;
}

bool Trainer::finished() const {
  const bool patience_over = job_.evaluation.patience > 0 && state_.without_gain >= job_.evaluation.patience;
  return state_.step >= max_steps_ || patience_over;
}

TrainResult Trainer::run(const ResumeChoice& resume, const SampleWriter& write_samples) {
  begin(resume);
  Heartbeat& heartbeat = mesh_.heartbeat();
  const Heartbeat::Scope stepping(heartbeat, RunPhase::Step);
  heartbeat.set_step(state_.step);
  if (finished()) {
    log_info("nothing to do: step {} of {}{}", state_.step, max_steps_,
             state_.step < max_steps_ ? fmt::format("; {} evaluations in a row were not better, as evaluation.patience "
                                                    "allows",
                                                    state_.without_gain)
                                      : "");
    return {.step = state_.step,
            .max_steps = max_steps_,
            .last_checkpoint = last_checkpoint_,
            .best_loss = state_.best_loss};
  }
  Loader loader({.plan = plan_,
                 .reader = make_reader(train_),
                 .dp_rank = mesh_.dp().rank(),
                 .dp_size = mesh_.dp().size(),
                 .micro_batch_tokens = job_.batch.micro_batch_tokens,
                 .start = state_.position});
  log_info("{}", describe_plan(*plan_, mesh_.dp().size(), job_.batch.micro_batch_tokens));
  probe_largest_step();
  last_save_ = std::chrono::steady_clock::now();
  double waited = 0;
  while (!finished() && !stop_) {
    const auto batches = loader.next();
    const double data_seconds = loader.waited_seconds() - waited;
    waited = loader.waited_seconds();
    one_step(*batches, data_seconds);
    if (due(job_.evaluation.every_steps, job_.evaluation.every_epochs)) evaluate();
    if (write_samples && job_.log.generations.every_steps > 0 && state_.step % job_.log.generations.every_steps == 0) {
      progress_.clear();
      const Heartbeat::Scope sampling(heartbeat, RunPhase::Evaluate);
      write_samples(*model_, state_.step);
    }
    if (checkpoint_due() && !finished()) save();
  }
  if (!stop_ && valid_ && !due(job_.evaluation.every_steps, job_.evaluation.every_epochs)) evaluate();
  save(true);
  commit_save(true);
  progress_.clear();
  return {.exit = stop_ ? ExitCode::Preempted : ExitCode::Done,
          .step = state_.step,
          .max_steps = max_steps_,
          .last_checkpoint = last_checkpoint_,
          .best_loss = state_.best_loss};
}

// U-3.7: the step that needs most memory comes first, so that a run which cannot do it ends in its first seconds and
// not after hours. It leaves no trace in weights, moments, random numbers or counts.
void Trainer::probe_largest_step() {
  const int64_t epoch = state_.position.epoch;
  const PlannedStep largest = plan_->step(epoch, plan_->largest_step(epoch));
  const auto began = std::chrono::steady_clock::now();
  const auto does_not_fit = [&] {
    return ConfigError(
        fmt::format("rank {}: there is not enough memory for the largest step of epoch {} (step {}, {} "
                    "rows); {} bytes of tensors were in use at most",
                    mesh_.world().rank(), epoch, largest.step_in_epoch, largest.rows(), context_.memory().use().peak),
        "lower batch.micro_batch_tokens, or set train.recompute: block");
  };
  try {
    step_->probe_largest_step(
        read_step(largest, *make_reader(train_), mesh_.dp().rank(), mesh_.dp().size(), job_.batch.micro_batch_tokens));
  } catch (const MemoryError&) {
    throw does_not_fit();
  } catch (const std::bad_alloc&) {
    throw does_not_fit();
  }
  auto peak = static_cast<double>(context_.memory().use().peak);
  mesh_.world().all_reduce_host(&peak, 1, ReduceOp::Max);
  log_info(
      "the largest step of epoch {} (step {}, {} rows) was tried once: {:.1f} MiB of tensors at most on a rank, {}",
      epoch, largest.step_in_epoch, largest.rows(), peak / (1 << 20),
      format_duration(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()));
}

void Trainer::one_step(const StepBatches& batches, double data_seconds) {
  const auto began = std::chrono::steady_clock::now();
  StepState step;
  step.step = state_.step;
  step.learning_rate = learning_rate(job_.schedule, state_.step, max_steps_);
  step.dropout_key = hash64(fmt::format("dropout {} {}", job_.seed, state_.step));
  const StepReport report = step_->run(batches, step, state_.updates, data_seconds,
                                       {.stop_asked = StopSignals::stop_asked(), .save_written = writer_->written()});
  window_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() + data_seconds;
  after_step(batches, report, step.learning_rate);
}

void Trainer::after_step(const StepBatches& batches, const StepReport& report, double lr) {
  state_.step += 1;
  mesh_.heartbeat().set_step(state_.step);
  state_.position = plan_->after({batches.epoch, batches.step_in_epoch});
  state_.epoch_end = state_.position.step == 0;
  state_.target_tokens += report.target_tokens;
  state_.skips += report.skipped;
  state_.skips_in_row = report.skipped ? state_.skips_in_row + 1 : 0;
  stop_ = report.stop;
  save_written_everywhere_ = report.save_written;
  if (writer_->busy() && save_written_everywhere_) commit_save();
  if (report.skipped) {
    progress_.clear();
    log_info("step {}: loss {} or gradient norm {} is not finite; the step is skipped ({} in a row)", state_.step,
             report.loss, report.gradient_norm, state_.skips_in_row);
    if (metrics_) {
      metrics_->write("skip", state_.step, {{"epoch", batches.epoch}, {"step_in_epoch", batches.step_in_epoch}});
    }
  }
  if (state_.skips_in_row > job_.train.max_nonfinite_steps) {
    throw DivergenceError(
        fmt::format("step {}: {} steps in a row had a loss or gradient that is not finite", state_.step,
                    state_.skips_in_row),
        "lower schedule.learning_rate, lengthen the warm-up, or set train.clip_norm; the last checkpoint is intact");
  }
  log_step(report, lr);
}

bool Trainer::due(int64_t every_steps, int64_t every_epochs) const {
  const bool by_steps = every_steps > 0 && state_.step % every_steps == 0;
  const bool by_epochs = every_epochs > 0 && state_.epoch_end && state_.position.epoch % every_epochs == 0;
  return by_steps || by_epochs;
}

void Trainer::evaluate() {
  if (!valid_) return;
  const Heartbeat::Scope evaluating(mesh_.heartbeat(), RunPhase::Evaluate);
  const EvaluationOptions options{.context_length = job_.batch.context_length,
                                  .max_sequences = job_.evaluation.max_sequences};
  const LossReport report = evaluate_loss(*model_, valid_, options, job_.train.label_smoothing);
  const bool better = report.mean_nll() < state_.best_loss;
  state_.without_gain = better ? 0 : state_.without_gain + 1;
  if (better) state_.best_loss = report.mean_nll(), state_.best_step = state_.step;
  progress_.clear();
  log_info("step {}: validation loss {:.4f}, perplexity {:.2f} over {} tokens in {}{}", state_.step, report.mean_nll(),
           std::exp(report.mean_nll()), report.targets, format_duration(report.seconds), better ? " (best)" : "");
  if (metrics_) {
    metrics_->write("eval", state_.step,
                    {{"epoch", state_.position.epoch},
                     {"loss", report.mean_nll()},
                     {"smoothed_loss", report.mean_loss()},
                     {"targets", report.targets},
                     {"best_loss", state_.best_loss},
                     {"best_step", state_.best_step},
                     {"seconds", report.seconds}});
  }
  if (better && job_.checkpoint.keep_best && !finished()) save();
}

void Trainer::log_step(const StepReport& report, double lr) {
  window_.steps += 1, window_.targets += report.target_tokens;
  window_.loss = report.loss, window_.nll = report.nll;
  window_.data += std::ranges::max(report.times.data), window_.exposed += report.exposed_seconds;
  window_.times.add(report.times);
  const double rate = static_cast<double>(window_.targets) / std::max(window_.seconds, 1e-9);
  const double left = progress_.seconds_left(first_step_, state_.step, max_steps_);
  progress_.show(fmt::format("step {}/{}  epoch {}  loss {:.4f}  lr {:.2e}  norm {:.3f}  {} tok/s  {} left",
                             state_.step, max_steps_, state_.position.epoch, report.loss, lr, report.gradient_norm,
                             format_count(rate), format_duration(left)));
  const bool log_now = state_.step % job_.log.every_steps == 0 || finished() || stop_;
  if (!log_now) return;
  const auto steps = static_cast<double>(window_.steps);
  if (metrics_) {
    Json line = {{"epoch", state_.position.epoch},
                 {"tokens", state_.target_tokens},
                 {"loss", report.loss},
                 {"nll", report.nll},
                 {"lr", lr},
                 {"grad_norm", report.gradient_norm},
                 {"skips", state_.skips},
                 {"tokens_per_second", rate},
                 {"step_ms", 1e3 * window_.seconds / steps},
                 {"data_ms", 1e3 * window_.data / steps},
                 {"comm_exposed_ms", 1e3 * window_.exposed / steps},
                 {"peak_memory", context_.memory().use().peak},
                 {"seconds_left", left}};
    if (mesh_.world().size() > 1) line.update(rank_times());
    metrics_->write("train", state_.step, line);
  }
  name_stragglers();
  window_ = {};
}

// Least, median and most of the ranks' times a step of the window.
Json Trainer::rank_times() const {
  const auto steps = static_cast<double>(window_.steps);
  const auto spread = [steps](const std::vector<double>& seconds) {
    const Spread s = spread_of(seconds);
    return Json::array({1e3 * s.min / steps, 1e3 * s.median / steps, 1e3 * s.max / steps});
  };
  return {{"busy_ms", spread(window_.times.busy)},
          {"data_wait_ms", spread(window_.times.data)},
          {"comm_wait_ms", spread(window_.times.wait)}};
}

void Trainer::name_stragglers() {
  const auto slow = stragglers_.add(window_.times);  // the same on every rank; one tells
  for (const auto& s : slow) {
    if (mesh_.world().rank() != 0) return;
    progress_.clear();
    log_warning("rank {} takes {:.1f} times the median rank's time since {} windows ({}): the others wait for it",
                s.rank, s.times, StragglerWatch::kWindows, s.by_data ? "waiting for data" : "computing");
  }
}

}  // namespace weft
