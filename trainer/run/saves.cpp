// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/saves.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/attachments.h"
#include "checkpoint/reader.h"
#include "checkpoint/retention.h"
#include "checkpoint/space.h"
#include "kernels/device/tuning.h"
#include "parallel/agree.h"
#include "parallel/parameters/replicas.h"
#include "trainer/run/provenance.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Saves::Saves(const JobConfig& job, TrainingSetup& setup, const RunDirectory& directory, Reporter& reporter,
             RunState& state, CheckpointHeader header)
    : job_(job),
      setup_(setup),
      directory_(directory),
      reporter_(reporter),
      state_(state),
      header_(std::move(header)),
      writer_(directory.checkpoints(), setup.context(), setup.mesh().world()) {}

void Saves::resumed_from(const std::optional<fs::path>& checkpoint, std::optional<uint64_t> digest) {
  if (checkpoint) saved_step_ = state_.step;
  header_.save_before.reset();
  if (digest) header_.save_before = DigestedSave{.step = state_.step, .digest = *digest};
  last_checkpoint_ = checkpoint;
}

void Saves::begun_from(nlohmann::ordered_json init_from) {
  if (!init_from.is_null()) header_.provenance["init_from"] = std::move(init_from);
}

void Saves::branched_from(const std::string& name) {
  if (!name.empty()) header_.provenance["branch_of"] = name;
}

void Saves::begin() {
  header_.attempt = directory_.attempt();
  const fs::path best = checkpoint_path(directory_.checkpoints(), state_.best_step);
  const std::string found = agree(directory_.world(), [&] {
    return fmt::format("{} {}", next_sequence(directory_.checkpoints()), has_manifest(best) ? 1 : 0);
  });
  header_.sequence = std::stoll(found);
  committed_best_ = {};
  const bool best_is_there = found.back() == '1';
  if (best_is_there) committed_best_ = best_now();
  if (!best_is_there && state_.best_step >= 0 && job_.checkpoint.keep_best) {
    log_info("the best checkpoint so far, {}, is missing: the next evaluation counts as the best", best.string());
    return_to_committed_best();
  }
  writer_.reserve(owned_arrays(setup_.parameters(), setup_.checkpoint_buffers()));
  last_save_ = Clock::now();
}

void Saves::check_space(bool evaluates) const {
  agree(directory_.world(), [&] {
    const CheckpointConfig& c = job_.checkpoint;
    const ParameterRegistry& parameters = setup_.parameters();
    const uint64_t one =
        checkpoint_bytes(parameters.global_elements(), parameters.precision() == Precision::Fp64 ? 8 : 4,
                         static_cast<int64_t>(setup_.checkpoint_buffers().size()),
                         static_cast<int64_t>(parameters.parameters().size()), directory_.world().size());
    const bool once = c.every_steps == 0 && c.every_minutes == 0 && c.every_epochs == 0 && !evaluates;
    const auto pinned = [&](int64_t step) {
      return step > state_.step || has_manifest(checkpoint_path(directory_.checkpoints(), step));
    };
    const auto there = static_cast<int64_t>(committed_directories(directory_.checkpoints()).size());
    const int64_t kept =
        c.keep_last + c.keep_epochs + (c.keep_best && evaluates ? 1 : 0) + std::ranges::count_if(c.keep_steps, pinned);
    const int64_t copies = once ? 1 : std::max<int64_t>(1, kept + 1 - there);
    try {
      require_space(
          directory_.checkpoints(), one * static_cast<uint64_t>(copies),
          fmt::format("{} of {} bytes ({} that checkpoint.keep_* keep, and one that is written before another "
                      "is removed)",
                      counted(copies, "more checkpoint"), one, kept));
    } catch (const DataError& error) {
      if (c.on_failure == OnFailure::Stop) throw;
      log_warning("{}", describe(error));
    }
    return std::string();
  });
}

bool Saves::due_by_clock() const {
  if (directory_.world().rank() != 0 || job_.checkpoint.every_minutes <= 0) return false;
  return seconds_since(last_save_) >= 60 * job_.checkpoint.every_minutes;
}

void Saves::start() {
  if (saved_step_ == state_.step) {
    // The run was stopped and saved before this step's evaluation, which has just found this step to be the best.
    if (!writer_.busy() && state_.best_step == state_.step) {
      committed_best_ = best_now();
    }
    return;
  }
  const Heartbeat::Scope saving(setup_.mesh().heartbeat(), RunPhase::Save);
  commit();
  directory_.require_ours();
  reporter_.finish();  // a checkpoint's steps are in the log before it is committed
  const auto began = Clock::now();
  setup_.parameters().finish_weight_gather();
  // If replicas hold different bits, a checkpoint of them is worse than no checkpoint.
  require_equal_replicas(setup_.parameters(), state_.step);
  header_.step = state_.step;
  header_.state = to_json(state_);
  under_way_ = {.step = state_.step, .best = best_now()};
  writer_.start(header_now(), owned_arrays(setup_.parameters(), setup_.checkpoint_buffers()), after_commit());
  saved_step_ = state_.step;
  header_.sequence += 1;
  last_save_ = Clock::now();
  under_way_.stall = seconds_since(began);
}

// The header with the algorithms that the device has measured so far: the fingerprint names them, and a run that
// resumes requires them.
CheckpointHeader Saves::header_now() const {
  CheckpointHeader header = header_;
  header.layout = setup_.mesh().layout();
  header.fingerprint = numerics_fingerprint(job_, setup_.mesh(), setup_.context());
  if (std::string text = tuned(setup_.context()); !text.empty()) {
    header.attachments.emplace_back(kAlgorithmsAttachment, std::move(text));
  }
  return header;
}

bool Saves::stepped(const SaveStates& sums, double copy_wait_seconds) {
  if (!writer_.busy()) return false;
  const Heartbeat::Scope saving(setup_.mesh().heartbeat(), RunPhase::Save);
  under_way_.stall += copy_wait_seconds;
  try {
    const auto saved = writer_.advance(sums);
    if (saved) committed(*saved);
    return saved.has_value();
  } catch (const DataError& error) {
    failed(error, false);
    return false;
  }
}

void Saves::commit(bool last) {
  if (!writer_.busy()) return;
  const Heartbeat::Scope saving(setup_.mesh().heartbeat(), RunPhase::Save);
  const auto began = Clock::now();
  try {
    const SavedCheckpoint saved = writer_.finish();
    under_way_.stall += seconds_since(began);
    committed(saved);
  } catch (const DataError& error) {
    failed(error, last);
  }
}

// What follows the commit of the save under way: run.json names it, and retention removes others. Retention keeps the
// best checkpoint: the one already committed, or this one if it is better; by then state_ may name a best step that is
// yet to be saved.
std::function<void()> Saves::after_commit() const {
  const CheckpointConfig& c = job_.checkpoint;
  const int64_t best = under_way_.best.step == under_way_.step ? under_way_.step : committed_best_.step;
  std::vector<int64_t> steps = c.keep_steps;
  if (pinned_step_) steps.push_back(*pinned_step_);
  return [run = directory_.path(), directory = directory_.checkpoints(),
          saved = LastSave{.step = header_.step, .sequence = header_.sequence},
          rule = RetentionRule{.keep_last = c.keep_last,
                               .keep_epochs = c.keep_epochs,
                               .best_step = c.keep_best && best >= 0 ? std::optional(best) : std::nullopt,
                               .keep_steps = std::move(steps)}] {
    note_last_save(run, saved);
    apply_retention(directory, rule);
  };
}

void Saves::committed(const SavedCheckpoint& saved) {
  last_checkpoint_ = saved.path;
  header_.save_before = DigestedSave{.step = under_way_.step, .digest = saved.digest};
  if (under_way_.best.step == under_way_.step) committed_best_ = under_way_.best;
  reporter_.saved(under_way_.step, saved, under_way_.stall);
}

// The writer throws the same on every rank. A run whose last save fails loses every step since the save before, so a
// failure of the last save always ends the run.
void Saves::failed(const DataError& error, bool last) {
  saved_step_ = -1;
  if (last || job_.checkpoint.on_failure == OnFailure::Stop) throw error;
  reporter_.save_failed(under_way_.step, error);
  // If the best step had no checkpoint, later steps that are worse would not be saved as the best.
  if (job_.checkpoint.keep_best && state_.best_step == under_way_.step) return_to_committed_best();
}

Saves::Best Saves::best_now() const {
  return {.step = state_.best_step, .loss = state_.best_loss, .score = state_.best_score};
}

void Saves::return_to_committed_best() {
  state_.best_step = committed_best_.step, state_.best_loss = committed_best_.loss;
  state_.best_score = committed_best_.score;
}

}  // namespace weft
