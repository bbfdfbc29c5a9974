// The part of the trainer that begins a run, or goes on from a checkpoint.
#include <nlohmann/json.hpp>
#include <random>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/retention.h"
#include "data/tokenizer/tokenizer.h"
#include "job/dataset_checks.h"
#include "job/migration.h"
#include "trainer/trainer.h"

namespace weft {

using Json = nlohmann::ordered_json;

namespace {

std::string new_run_id() {
  std::random_device device;
  return hash_hex((static_cast<uint64_t>(device()) << 32) | device());
}

// The checkpoint to go on from, "" for none.
std::string resume_path(const ResumeChoice& resume, const fs::path& checkpoints,
                        const std::function<void()>& on_progress) {
  if (resume.kind == ResumeChoice::Kind::Path) {
    const bool run = !fs::exists(resume.path / "manifest.json") && fs::is_directory(resume.path / "checkpoints");
    if (run) {
      throw DataError(fmt::format("{} is a run's directory, not a checkpoint", resume.path.string()),
                      fmt::format("give one of {}", (resume.path / "checkpoints" / "step-*").string()));
    }
    verify_checkpoint(resume.path, Checkpoint::open(resume.path).manifest(), on_progress);
    return resume.path.string();
  }
  const std::vector<fs::path> all = list_checkpoints(checkpoints);
  if (all.empty()) return "";
  if (resume.kind == ResumeChoice::Kind::Never) {
    throw DataError(fmt::format("{} holds checkpoints of an earlier run", checkpoints.string()),
                    "choose another run_dir, or remove that directory if it is no longer needed");
  }
  const auto latest = latest_valid(checkpoints, on_progress);
  if (latest) return latest->path().string();
  throw DataError(fmt::format("none of the {} checkpoints in {} is intact", all.size(), checkpoints.string()),
                  "restore one from a copy, or choose another run_dir to begin anew");
}

}  // namespace

void Trainer::begin(const ResumeChoice& resume) {
  Communicator& world = mesh_.world();
  if (world.rank() == 0) clear_unfinished(checkpoints_);
  if (const auto path = find_resume(resume)) {
    restore(*path);
  } else {
    model_->parameters().initialise(static_cast<uint64_t>(job_.seed));
    if (!job_.train.init_from.empty()) load_initial_weights();
    state_.run = world.broadcast_text(world.rank() == 0 ? new_run_id() : "", 0);
  }
  first_step_ = state_.step;
  if (finished()) return;
  create_directories();
  check_space();
  if (world.rank() == 0) write_run_files();
}

// After all that can be wrong with a checkpoint: a run that cannot begin leaves nothing behind.
void Trainer::create_directories() {
  Communicator& world = mesh_.world();
  std::string problem;
  if (world.rank() == 0) {
    std::error_code error;
    fs::create_directories(checkpoints_, error);
    if (error) problem = fmt::format("create {}: {}", checkpoints_.string(), error.message());
  }
  problem = world.broadcast_text(problem, 0);
  if (!problem.empty()) throw DataError(problem, "set run_dir to a directory that can be written");
}

// What is stored of a run besides its checkpoints: the whole job, where it comes from, and its metrics.
void Trainer::write_run_files() {
  const int64_t attempt = next_attempt(directory_);
  const Json origin = provenance();
  log_info("the job, where it differs from the defaults (the whole is in {}):", (directory_ / "job.yaml").string());
  for (const ConfigChange& change : config_changes(JobConfig{}, job_)) log_info("  {}: {}", change.key, change.after);
  write_file_atomically(directory_ / "job.yaml", to_yaml(job_));
  const Json run = {{"run", state_.run}, {"attempt", attempt}, {"provenance", origin}};
  write_file_atomically(directory_ / "run.json", run.dump(2) + "\n");
  metrics_ = std::make_unique<MetricsLog>(directory_, state_.run, attempt);
  metrics_->write("start", state_.step, {{"max_steps", max_steps_}, {"provenance", origin}});
}

// Rank 0 decides and tells the others: they may see the file system at another moment.
std::optional<fs::path> Trainer::find_resume(const ResumeChoice& resume) {
  Communicator& world = mesh_.world();
  std::string found, problem, hint;
  if (world.rank() == 0) {
    try {
      found = resume_path(resume, checkpoints_, [this] { context_.note_progress(); });
    } catch (const Error& error) {
      problem = error.what(), hint = error.hint();
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  problem = world.broadcast_text(problem, 0);
  if (!problem.empty()) throw DataError(problem, hint);
  found = world.broadcast_text(found, 0);
  return found.empty() ? std::nullopt : std::optional<fs::path>(found);
}

void Trainer::restore(const fs::path& path) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const auto before = parse_stored_job(manifest.job, (path / "manifest.json").string());
  const ResumeChanges changes = resume_changes(before, job_);
  for (const auto& list : {changes.harmless, changes.allowed}) {
    for (const ConfigChange& change : list) {
      log_info("changed since the checkpoint: {}: {} -> {}", change.key, change.before, change.after);
    }
  }
  state_ = run_state_from(manifest.state, path.string());
  saved_step_ = state_.step;
  last_checkpoint_ = path;
  if (finished()) return;  // nothing is trained, so nothing can be trained wrongly
  refuse_changes(changes.refused, path.string());
  check_dataset(checkpoint);
  Json numerics = manifest.fingerprint;
  // Earlier versions left it out; their jobs hold it.
  if (!numerics.contains("micro_batch_tokens")) numerics["micro_batch_tokens"] = before.batch.micro_batch_tokens;
  if (numerics != fingerprint()) {
    log_info(
        "this run's numerics differ from the checkpoint's ({} before, {} now): it goes on within rounding, not bit "
        "for bit",
        numerics.dump(), fingerprint().dump());
  }
  checkpoint.read(local_boxes(model_->parameters(), checkpoint_buffers()), [this] { context_.note_progress(); });
  model_->parameters().sync_compute_weights();
  state_.position = position_now(before, state_.position);
  log_info("resumed from {} at step {} of {}", path.string(), state_.step, max_steps_);
  tell_learning_rate(!changes.allowed.empty() || overrides(job_, "data.directory"));
}

// The ids of the text must mean what they meant when the weights were trained, and the text be the same, so that what
// was consumed is known.
void Trainer::check_dataset(const Checkpoint& checkpoint) const {
  check_tokenizers(checkpoint, train_->header(), job_.data.directory);
  const Json& stored = checkpoint.manifest().provenance;
  const std::string now = hash_hex(train_->header().content);
  if (!stored.is_object() || !stored.contains("dataset") || overrides(job_, "data.directory")) return;
  if (stored["dataset"].value("train", now) == now) return;
  throw ConfigError(
      fmt::format("{} holds another training text than the one that {} was trained on ({})", job_.data.directory,
                  checkpoint.path().string(), stored["dataset"].value("directory", std::string("?"))),
      "nothing was changed. To go on with the new text: --set 'allow_changes=[data.directory]'. To go on as "
      "before, set data.directory back.");
}

// With other batches an epoch has another number of steps: the run goes on after the same share of the epoch, which
// with the same seed and order of windows is the same text.
Position Trainer::position_now(const JobConfig& before, Position position) const {
  const auto plan = make_batch_plan(before.batch, *train_, static_cast<uint64_t>(before.seed));
  const int64_t then = plan->steps_per_epoch(position.epoch), now = plan_->steps_per_epoch(position.epoch);
  if (then == now) return plan_->normalised(position);
  const Position moved{position.epoch, std::min(now, position.step * now / then)};
  log_info("epoch {} has {} steps, not {}: step {} of it becomes step {}", position.epoch, now, then, position.step,
           moved.step);
  return plan_->normalised(moved);
}

void Trainer::tell_learning_rate(bool allowed) const {
  const double now = learning_rate(job_.schedule, state_.step, max_steps_);
  if (!state_.next_learning_rate || *state_.next_learning_rate == now) return;
  const std::string text = fmt::format("the learning rate of the next step is {:.6g}; the checkpoint's job had {:.6g}",
                                       now, *state_.next_learning_rate);
  if (allowed) return log_info("{}", text);
  log_warning("{}, though its settings are the same: another build, or another number of steps", text);
}

void Trainer::load_initial_weights() {
  const Checkpoint checkpoint = Checkpoint::open(job_.train.init_from);
  check_tokenizers(checkpoint, train_->header(), job_.data.directory);
  const std::vector<NamedBuffer> master = {{"master", model_->parameters().master()}};
  checkpoint.read(local_boxes(model_->parameters(), master));
  model_->parameters().sync_compute_weights();
  log_info("weights from {}", job_.train.init_from);
}

}  // namespace weft
