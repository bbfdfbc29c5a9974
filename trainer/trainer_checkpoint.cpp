// The part of the trainer that begins, saves and resumes a run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/config_reader.h"
#include "base/config_writer.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/retention.h"
#include "data/tokenizer.h"
#include "kernels/cpu/matmul.h"
#include "parallel/replicas.h"
#include "trainer/trainer.h"

namespace weft {

using Json = nlohmann::ordered_json;

namespace {

std::string new_run_id() {
  std::random_device device;
  return hash_hex((static_cast<uint64_t>(device()) << 32) | device());
}

}  // namespace

std::vector<NamedBuffer> Trainer::checkpoint_buffers() const {
  std::vector<NamedBuffer> buffers = {{"master", model_->parameters().master()}};
  for (const NamedBuffer& b : optimizer_->buffers()) buffers.push_back(b);
  return buffers;
}

// What two runs must share to be bit-identical (docs/determinism.md).
Json Trainer::fingerprint() const {
  return {{"dp", mesh_.dp().size()},
          {"tp", mesh_.tp().size()},
          {"threads", context_.threads()},
          {"matmul", cpu::MatmulEngine::library()},
          {"precision", std::string(enum_name(job_.train.precision))}};
}

void Trainer::begin(const ResumeChoice& resume) {
  Communicator& world = mesh_.world();
  std::string problem;
  if (world.rank() == 0) {
    std::error_code error;
    fs::create_directories(checkpoints_, error);
    if (error) problem = fmt::format("create {}: {}", checkpoints_.string(), error.message());
  }
  problem = world.broadcast_text(problem, 0);
  if (!problem.empty()) throw DataError(problem, "set run_dir to a directory that can be written");

  if (const auto path = find_resume(resume)) {
    restore(*path);
  } else {
    model_->parameters().initialise(static_cast<uint64_t>(job_.seed));
    if (!job_.train.init_from.empty()) load_initial_weights();
    state_.run = world.broadcast_text(world.rank() == 0 ? new_run_id() : "", 0);
  }
  first_step_ = state_.step;
  if (world.rank() == 0) {
    write_file_atomically(directory_ / "job.yaml", to_yaml(job_));
    metrics_ = std::make_unique<MetricsLog>(directory_, state_.run, next_attempt(directory_));
  }
}

// Rank 0 decides and tells the others: they may see the file system at another moment.
std::optional<fs::path> Trainer::find_resume(const ResumeChoice& resume) {
  Communicator& world = mesh_.world();
  std::string found, problem;
  if (world.rank() == 0) {
    try {
      if (resume.kind == ResumeChoice::Kind::Path) {
        const Checkpoint checkpoint = Checkpoint::open(resume.path);
        verify_checkpoint(resume.path, checkpoint.manifest());
        found = resume.path.string();
      } else if (resume.kind == ResumeChoice::Kind::Auto) {
        const auto latest = latest_valid(checkpoints_);
        if (latest) found = latest->path().string();
        if (!latest && !list_checkpoints(checkpoints_).empty()) problem = "no checkpoint of the run is intact";
      } else if (!list_checkpoints(checkpoints_).empty()) {
        problem = fmt::format("{} holds checkpoints of an earlier run", checkpoints_.string());
      }
    } catch (const std::exception& error) {
      problem = describe(error);
    }
  }
  problem = world.broadcast_text(problem, 0);
  if (!problem.empty()) {
    throw DataError(problem, "choose another run_dir, or remove that directory if it is no longer needed");
  }
  found = world.broadcast_text(found, 0);
  return found.empty() ? std::nullopt : std::optional<fs::path>(found);
}

void Trainer::restore(const fs::path& path) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const auto before = parse_config<JobConfig>(manifest.job, (path / "manifest.json").string());
  for (const ConfigChange& change : config_changes(before, job_)) {
    if (change.key == "run_dir" || change.key == "name") continue;
    log_info("changed since the checkpoint: {}: {} -> {}", change.key, change.before, change.after);
  }
  if (manifest.fingerprint != fingerprint()) {
    log_info(
        "this run's numerics differ from the checkpoint's ({} before, {} now): it goes on within rounding, not bit "
        "for bit",
        manifest.fingerprint.dump(), fingerprint().dump());
  }
  checkpoint.read(local_boxes(model_->parameters(), checkpoint_buffers()));
  model_->parameters().refresh_values();
  state_ = run_state_from(manifest.state, path.string());
  state_.position = plan_->normalised(state_.position);
  saved_step_ = state_.step;
  last_checkpoint_ = path;
  log_info("resumed from {} at step {} of {}", path.string(), state_.step, max_steps_);
}

void Trainer::load_initial_weights() {
  const Checkpoint checkpoint = Checkpoint::open(job_.train.init_from);
  const std::vector<NamedBuffer> master = {{"master", model_->parameters().master()}};
  checkpoint.read(local_boxes(model_->parameters(), master));
  model_->parameters().refresh_values();
  log_info("weights from {}", job_.train.init_from);
}

bool Trainer::checkpoint_due() const {
  const CheckpointConfig& c = job_.checkpoint;
  if (saved_step_ == state_.step) return false;
  if (stop_ || due(c.every_steps, c.every_epochs)) return true;
  if (c.every_minutes <= 0) return false;
  // Clocks differ between ranks: rank 0's decides.
  const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - last_save_).count() / 60;
  double now = mesh_.world().rank() == 0 && minutes >= c.every_minutes ? 1 : 0;
  mesh_.world().all_reduce_host(&now, 1, ReduceOp::Max);
  return now > 0;
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  const Heartbeat::Scope saving(mesh_.heartbeat(), Phase::Save);
  commit_save();
  // Replicas hold the same bits or something is badly wrong: better no checkpoint than one of a split run.
  require_equal_replicas(model_->parameters(), state_.step);

  writer_->start({.step = state_.step,
                  .state = to_json(state_),
                  .job = to_yaml(job_),
                  .fingerprint = fingerprint(),
                  .attachments = {{"source-tokenizer.json", train_->load_source_tokenizer()->to_json()},
                                  {"target-tokenizer.json", train_->load_target_tokenizer()->to_json()}}},
                 owned_boxes(model_->parameters(), checkpoint_buffers()));
  saved_step_ = state_.step;
  last_save_ = std::chrono::steady_clock::now();
}

void Trainer::commit_save() {
  if (!writer_->busy()) return;
  const Heartbeat::Scope saving(mesh_.heartbeat(), Phase::Save);
  last_checkpoint_ = writer_->finish();
  if (mesh_.world().rank() == 0) {
    if (metrics_) metrics_->write("save", state_.step, {{"path", last_checkpoint_->string()}});
    const bool best = job_.checkpoint.keep_best && state_.best_step >= 0;
    apply_retention(checkpoints_, {.keep = job_.checkpoint.keep,
                                   .keep_epochs = job_.checkpoint.keep_epochs,
                                   .best_step = best ? std::optional(state_.best_step) : std::nullopt});
  }
  // Removing old checkpoints may take longer than a step may: the others wait for it here, in this phase.
  mesh_.world().barrier();
}

}  // namespace weft
