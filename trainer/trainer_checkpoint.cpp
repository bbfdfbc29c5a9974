// The part of the trainer that saves a run.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/retention.h"
#include "checkpoint/space.h"
#include "kernels/context.h"
#include "parallel/replicas.h"
#include "trainer/trainer.h"

namespace weft {

using Json = nlohmann::ordered_json;

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
          {"matmul", matmul_library()},
          {"precision", std::string(enum_name(job_.train.precision))},
          {"micro_batch_tokens", job_.batch.micro_batch_tokens}};
}

Json Trainer::provenance() const {
  Json stored = weft::provenance(origin_);
  stored["dataset"] = {{"directory", job_.data.directory}, {"train", hash_hex(train_->header().content)}};
  return stored;
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

void Trainer::save(bool last) {
  if (saved_step_ == state_.step) return;
  const Heartbeat::Scope saving(mesh_.heartbeat(), RunPhase::Save);
  commit_save();
  // Replicas hold the same bits or something is badly wrong: better no checkpoint than one of a split run.
  require_equal_replicas(model_->parameters(), state_.step);
  const auto began = std::chrono::steady_clock::now();
  state_.next_learning_rate = learning_rate(job_.schedule, state_.step, max_steps_);
  try {
    writer_->start({.step = state_.step,
                    .state = to_json(state_),
                    .job = to_yaml(job_),
                    .fingerprint = fingerprint(),
                    .provenance = provenance(),
                    .attachments = tokenizers_},
                   owned_boxes(model_->parameters(), checkpoint_buffers()));
    saved_step_ = state_.step;
  } catch (const DataError& error) {
    save_failed(error, last);
  }
  last_save_ = std::chrono::steady_clock::now();
  save_seconds_ = std::chrono::duration<double>(last_save_ - began).count();
}

void Trainer::commit_save(bool last) {
  if (!writer_->busy()) return;
  const Heartbeat::Scope saving(mesh_.heartbeat(), RunPhase::Save);
  const auto began = std::chrono::steady_clock::now();
  try {
    last_checkpoint_ = writer_->finish();
  } catch (const DataError& error) {
    return save_failed(error, last);
  }
  save_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (mesh_.world().rank() == 0) {
    // What the run was kept waiting for: the snapshot and the commit, not what the thread wrote meanwhile.
    if (metrics_) {
      metrics_->write("save", state_.step, {{"path", last_checkpoint_->string()}, {"save_ms", 1e3 * save_seconds_}});
    }
    const bool best = job_.checkpoint.keep_best && state_.best_step >= 0;
    apply_retention(checkpoints_, {.keep_last = job_.checkpoint.keep_last,
                                   .keep_epochs = job_.checkpoint.keep_epochs,
                                   .best_step = best ? std::optional(state_.best_step) : std::nullopt,
                                   .keep_steps = job_.checkpoint.keep_steps});
  }
  // Removing old checkpoints may take longer than a step may: the others wait for it here, in this phase.
  mesh_.world().barrier();
}

// The writer throws on every rank alike. A run that ends without its last save has lost what came since the one
// before, so that is never passed over.
void Trainer::save_failed(const DataError& error, bool last) {
  saved_step_ = -1;
  if (last || job_.checkpoint.on_failure == OnFailure::Stop) throw error;
  progress_.clear();
  if (mesh_.world().rank() == 0) {
    log_warning("{}\n  the run goes on (checkpoint.on_failure: continue) and tries again at the next save",
                describe(error));
  }
  if (metrics_) metrics_->write("save_failed", state_.step, {{"error", error.what()}});
}

// U-4.3: room for what retention keeps, and one more, since the old goes only once the new is there.
void Trainer::check_space() {
  std::string problem, hint;
  if (mesh_.world().rank() == 0) {
    const CheckpointConfig& c = job_.checkpoint;
    const ParameterRegistry& parameters = model_->parameters();
    const uint64_t one = checkpoint_bytes(
        parameters.global_elements(), parameters.precision() == Precision::Fp64 ? 8 : 4,
        static_cast<int64_t>(checkpoint_buffers().size()), static_cast<int64_t>(parameters.parameters().size()));
    const bool once = c.every_steps == 0 && c.every_minutes == 0 && c.every_epochs == 0 && !valid_;
    const auto there = static_cast<int64_t>(list_checkpoints(checkpoints_).size());
    const int64_t copies = once ? 1 : std::max<int64_t>(1, c.keep_last + 1 - there);
    try {
      require_space(checkpoints_, one * static_cast<uint64_t>(copies),
                    fmt::format("{} more checkpoint{} of {} bytes (checkpoint.keep_last {})", copies,
                                copies == 1 ? "" : "s", one, c.keep_last));
    } catch (const DataError& error) {
      if (c.on_failure == OnFailure::Continue) {
        log_warning("{}", describe(error));
      } else {
        problem = error.what(), hint = error.hint();
      }
    }
  }
  problem = mesh_.world().broadcast_text(problem, 0);
  if (!problem.empty()) throw DataError(problem, hint);
}

}  // namespace weft
