// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/reporter.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "kernels/device/devices.h"
#include "plan/device_model.h"
#include "plan/model_flops.h"

namespace weft {

using Json = nlohmann::ordered_json;

namespace {

// A language model's FLOPs depend on the number of tokens alone; those of a translation model, on the lengths of its
// sentences too, which are not counted.
double flops_of_a_token(const JobConfig& job, int64_t parameters) {
  return job.is_translation() ? 0 : model_flops(job, parameters, 1, 0).flops;
}

double stated_flops(const JobConfig& job, const Context& context, int ranks) {
  if (context.device().kind != DeviceKind::Cuda) return 0;
  return 1e9 * ranks * stated_gflops(cuda_devices().names.at(context.device().index), job.train.precision);
}

}  // namespace

Reporter::Reporter(const JobConfig& job, int64_t parameters, Context& context, Communicator& world, const RunEnd& end)
    : job_(job),
      context_(context),
      world_(world),
      end_(end),
      flops_per_token_(flops_of_a_token(job, parameters)),
      stated_flops_(stated_flops(job, context, world.size())),
      progress_(world.rank() == 0) {}

double Reporter::Window::tokens_per_second() const { return static_cast<double>(targets) / std::max(seconds, 1e-9); }

void Reporter::begin(const fs::path& directory, const RunState& state, int64_t attempt, const Json& provenance) {
  steps_.reach(static_cast<double>(state.step));
  tokens_.reach(static_cast<double>(state.target_tokens), step_seconds_);
  if (!is_rank0()) return;
  metrics_ = std::make_unique<MetricsLog>(directory, state.run, attempt);
  if (job_.log.tensorboard) events_ = std::make_unique<EventFile>(directory, attempt);
  write("start", state.step, {{"max_steps", end_.max_steps}, {"provenance", provenance}});
}

void Reporter::write(const char* event, int64_t step, const Json& fields) {
  if (events_) events_->write(event, step, fields);
  if (metrics_) metrics_->write(event, step, fields);
}

void Reporter::then(const std::function<void()>& work) {
  if (metrics_ && work) metrics_->then(work);
}

void Reporter::finish() {
  if (metrics_) metrics_->finish();
  if (events_) events_->finish();
}

void Reporter::stepped(const RunState& state, const StepReport& report, double learning_rate, double seconds,
                       bool last) {
  const StepOutcome& outcome = report.outcome;
  window_.steps += 1, window_.targets += outcome.target_tokens, window_.seconds += seconds;
  window_.tokens += outcome.tokens, window_.padding += outcome.padding_rows, window_.replayed += outcome.replayed;
  window_.mine += report.times;
  step_seconds_ += seconds;
  steps_.reach(static_cast<double>(state.step));
  tokens_.reach(static_cast<double>(state.target_tokens), step_seconds_);
  const double left = steps_.seconds_left(static_cast<double>(end_.max_steps));
  progress_.show(fmt::format("step {}/{}  epoch {}  loss {:.4f}  lr {:.2e}  norm {:.3f}  {} tok/s  {} left", state.step,
                             end_.max_steps, state.position.epoch, outcome.loss, learning_rate, outcome.gradient_norm,
                             format_count(tokens_.per_second()), format_duration(left)));
  notice_lost_console(state.step);
  if (!last && state.step % job_.log.every_steps != 0) return;
  const TimesByRank times = gather_times(world_, window_.mine);
  if (is_rank0()) {
    write_train_line(state, outcome, learning_rate, left, times);
    report_stragglers(times);
  }
  window_ = {};
}

void Reporter::write_train_line(const RunState& state, const StepOutcome& outcome, double learning_rate,
                                double seconds_left, const TimesByRank& times) {
  const auto steps = static_cast<double>(window_.steps);
  Json line = {{"epoch", state.position.epoch},
               {"tokens", state.target_tokens},
               {"loss", outcome.loss},
               {"nll", outcome.nll},
               {"lr", learning_rate},
               {"grad_norm", outcome.gradient_norm},
               {"skips", state.skips},
               {"tokens_per_second", window_.tokens_per_second()},
               {"step_ms", 1e3 * window_.seconds / steps},
               {"data_ms", 1e3 * std::ranges::max(times.data) / steps},
               {"comm_exposed_ms", 1e3 * std::ranges::max(times.exposed) / steps},
               {"peak_memory", context_.memory().use().peak},
               {"seconds_left", seconds_left}};
  if (const double flops = window_.tokens_per_second() * flops_per_token_; flops > 0) {
    line["flops"] = flops;
    if (stated_flops_ > 0) line["mfu"] = flops / stated_flops_;
  }
  if (window_.replayed > 0) line["replayed"] = static_cast<double>(window_.replayed) / steps;
  if (window_.padding > 0) {
    line["padding"] = static_cast<double>(window_.padding) / static_cast<double>(window_.padding + window_.tokens);
  }
  if (world_.size() > 1) line.update(rank_times(times));
  write("train", state.step, line);
}

// If the console cannot be written to (a closed pipe, a full disk), only its own lines are lost, and metrics.jsonl gets
// one event about the loss.
void Reporter::notice_lost_console(int64_t step) {
  if (console_lost_ || !is_rank0() || !progress_.lost()) return;
  console_lost_ = true;
  write("console_lost", step, Json::object());
}

// Milliseconds per step of the window: minimum, median and maximum over the ranks.
Json Reporter::rank_times(const TimesByRank& times) const {
  const auto steps = static_cast<double>(window_.steps);
  const auto spread = [steps](const std::vector<double>& seconds) {
    const Spread s = spread_of(seconds);
    return Json::array({1e3 * s.min / steps, 1e3 * s.median / steps, 1e3 * s.max / steps});
  };
  return {{"busy_ms", spread(times.busy)}, {"data_wait_ms", spread(times.data)}, {"comm_wait_ms", spread(times.wait)}};
}

void Reporter::report_stragglers(const TimesByRank& times) {
  for (const auto& s : stragglers_.add(times)) {
    clear();
    log_warning("rank {} has taken {:.1f} times the median rank's time for {} windows ({}): the others wait for it",
                s.rank, s.times, StragglerWatch::kWindows, s.by_data ? "waiting for data" : "computing");
  }
}

void Reporter::skipped(const RunState& state, const StepOutcome& outcome, Position at) {
  clear();
  log_info("step {}: loss {} or gradient norm {} is {}; the step is skipped ({} in a row)", state.step, outcome.loss,
           outcome.gradient_norm, outcome.spike ? "a spike (train.spikes)" : "not finite", state.skips_in_row);
  write("skip", state.step,
        {{"epoch", at.epoch},
         {"step_in_epoch", at.step},
         {"loss", outcome.loss},
         {"grad_norm", outcome.gradient_norm},
         {"spike", outcome.spike}});
}

namespace {

// A score is a number beside a signature of the same name: so the report draws it.
void add_task(Json& line, const TaskReport& task) {
  const ChoiceReport& answers = task.answers;
  const auto add = [&](const std::string& figure, double value, const char* what) {
    line[task.name + figure] = value;
    line[task.name + figure + "_signature"] = fmt::format("{}, {}", what, counted(answers.questions, "question"));
  };
  if (answers.form == QuestionForm::LastWord) {
    add("_accuracy", answers.accuracy(answers.right_by_sum), "last word, likeliest token by token");
    add("_perplexity", answers.word_perplexity(), "of last words");
    return;
  }
  add("_accuracy", answers.accuracy(answers.right_by_sum), "likeliest ending");
  add("_accuracy_per_byte", answers.accuracy(answers.right_by_byte), "likeliest ending per byte");
}

}  // namespace

void Reporter::checked(int64_t step, double seconds) { write("check", step, {{"seconds", seconds}}); }

void Reporter::evaluated(const RunState& state, const ValidationReport& report, bool better) {
  clear();
  const LossReport& loss = report.loss;
  const std::optional<TranslationReport>& found = report.translation;
  const std::string translated = found ? fmt::format("; {} {:.2f} over {} in {}", found->metric, found->score,
                                                     counted(found->pairs, "pair"), format_duration(found->seconds))
                                       : "";
  log_info("step {}: validation loss {:.4f}, perplexity {:.2f} over {} in {}{}{}", state.step, loss.mean_nll(),
           std::exp(loss.mean_nll()), counted(loss.targets, "token"), format_duration(loss.seconds), translated,
           better ? " (best)" : "");
  for (const TaskReport& task : report.tasks) log_info("step {}: {}: {}", state.step, task.name, task.answers.format());
  Json line = {{"epoch", state.position.epoch}, {"loss", loss.mean_nll()},      {"smoothed_loss", loss.mean_loss()},
               {"targets", loss.targets},       {"best_loss", state.best_loss}, {"best_step", state.best_step},
               {"seconds", loss.seconds}};
  const std::string metric(enum_name(job_.evaluation.metric));
  if (state.best_score) line["best_" + metric] = *state.best_score;
  if (found) {
    line[metric] = found->score;
    line[metric + "_signature"] = found->signature;
    line["pairs"] = found->pairs;
    line[metric + "_seconds"] = found->seconds;
  }
  for (const TaskReport& task : report.tasks) add_task(line, task);
  write("eval", state.step, line);
}

void Reporter::generated(const RunState& state, const Generation& generation) {
  clear();
  log_info("step {}, temperature {:g}: {} => {}", state.step, generation.temperature, generation.prompt,
           generation.text);
  generations_.push_back(generation);
}

void Reporter::generated_all(const RunState& state) {
  Json list = Json::array();
  for (const Generation& made : generations_) {
    list.push_back({{"temperature", made.temperature}, {"prompt", made.prompt}, {"text", made.text}});
  }
  generations_.clear();
  if (!list.empty()) write("generations", state.step, {{"generations", std::move(list)}});
}

void Reporter::sources(const RunState& state, const std::vector<SourceReport>& sources) {
  if (sources.empty()) return;
  Json list = Json::array();
  for (const SourceReport& s : sources) {
    list.push_back({{"directory", s.directory},
                    {"weight", s.weight},
                    {"share", s.share},
                    {"tokens", s.tokens},
                    {"epochs", s.epochs}});
  }
  clear();
  log_info("step {}: epochs of what is mixed: {}", state.step, describe_epochs(sources));
  write("sources", state.step, {{"sources", std::move(list)}});
}

void Reporter::rolled_back(const RunState& state, int64_t from) {
  clear();
  window_ = {};
  log_info(
      "step {}: diverged; rolled back to step {} (rollback {} of at most {}), with the data from step {} of epoch {} "
      "on",
      from, state.step, state.rollbacks, job_.train.max_rollbacks, state.position.step, state.position.epoch);
  write("roll_back", state.step, {{"from_step", from}, {"rollbacks", state.rollbacks}});
}

void Reporter::saved(int64_t step, const SavedCheckpoint& saved, double stall_seconds) {
  write("save", step,
        {{"path", saved.path.string()},
         {"digest", hash_hex(saved.digest)},
         {"stall_ms", 1e3 * stall_seconds},
         {"snapshot_ms", 1e3 * saved.copy_seconds},
         {"write_ms", 1e3 * saved.write_seconds},
         {"commit_ms", 1e3 * saved.commit_seconds},
         {"bytes_per_second", saved.bytes / std::max(saved.write_seconds, 1e-9)}});
}

void Reporter::save_failed(int64_t step, const DataError& error) {
  clear();
  if (!is_rank0()) return;
  log_warning("{}\n  training continues (checkpoint.on_failure: continue); the next save tries again", describe(error));
  write("save_failed", step, {{"error", error.what()}});
}

void Reporter::traced(int64_t step, const Json& fields) {
  clear();
  const auto first = fields["first"].get<int64_t>();
  log_info("{} traced in {}: https://ui.perfetto.dev shows it, and weft report where the time went",
           first == step ? fmt::format("step {} is", step) : fmt::format("steps {} to {} are", first, step),
           fields["file"].get<std::string>());
  write("trace", step, fields);
}

}  // namespace weft
