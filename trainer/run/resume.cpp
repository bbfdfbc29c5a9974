// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/resume.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/attachments.h"
#include "checkpoint/locate.h"
#include "data/tokenizer/tokenizer.h"
#include "job/dataset_checks.h"
#include "job/initial_model.h"
#include "job/migration.h"
#include "kernels/device/tuning.h"
#include "model/layers/lora.h"
#include "parallel/agree.h"
#include "trainer/run/provenance.h"
#include "trainer/run/run_file.h"
#include "trainer/run/validation.h"

namespace weft {

using Json = nlohmann::ordered_json;

namespace {

std::string new_run_id() {
  std::random_device device;
  return hash_hex((static_cast<uint64_t>(device()) << 32) | device());
}

// Some rank cannot read a checkpoint, or reads bytes that differ from those that were written.
class DamageError : public DataError {
 public:
  using DataError::DataError;
};

// Directories whose names are a checkpoint's, and which lack its manifest: a copy that was not finished, or a file that
// somebody has deleted. weft itself leaves none.
void warn_of_incomplete(const fs::path& checkpoints) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints, error)) {
    if (is_step_name(entry.path().filename().string()) && !has_manifest(entry.path())) {
      log_warning("{} is passed over: it has no {}", entry.path().string(), manifest_path("").string());
    }
  }
}

// A run whose checkpoints were moved, purged or lie on a disk that is not mounted must not begin again.
void require_all_there(const fs::path& run, const std::vector<fs::path>& all) {
  const std::optional<LastSave> known = last_save(run);
  if (!known || (!all.empty() && sequence_of(all.back()) >= known->sequence)) return;
  throw DataError(
      fmt::format("{} has saved step {}, and that checkpoint is not there{}", run.string(), known->step,
                  all.empty() ? ", nor is any other" : fmt::format(": the newest is {}", all.back().string())),
      fmt::format("is a file system not mounted? {}To begin from scratch, give another run_dir, or remove {}",
                  all.empty() ? "" : fmt::format("To resume from there: --resume {}. ", all.back().string()),
                  (run / "run.json").string()));
}

// A start with the same --resume continues from what the run has saved since it began there: a scheduler repeats the
// whole command. The newest checkpoint comes first, the one to begin at last.
std::vector<fs::path> saved_since(const fs::path& from, const fs::path& checkpoints) {
  std::vector<fs::path> found = {from};
  for (const fs::path& path : list_checkpoints(checkpoints)) {
    try {
      if (branch_of(read_checkpoint_manifest(path).provenance) == branch_name(from)) found.push_back(path);
    } catch (const DataError& error) {
      log_warning("{} is passed over: {}", path.string(), error.what());
    }
  }
  std::ranges::reverse(found);
  return found;
}

// The checkpoints to resume from, in the order in which they are tried; empty if the run begins from scratch.
std::vector<fs::path> found_checkpoints(const ResumeChoice& resume, const fs::path& run, const fs::path& checkpoints) {
  if (resume.kind == ResumeChoice::Kind::Scratch) return {};
  if (resume.kind == ResumeChoice::Kind::Exactly) return {resume.path};
  if (resume.kind == ResumeChoice::Kind::Path) {
    if (is_run_directory(resume.path)) {
      throw DataError(fmt::format("{} is a run's directory, not a checkpoint", resume.path.string()),
                      fmt::format("give one of {}", (checkpoints_folder(resume.path) / "step-*").string()));
    }
    return saved_since(resume.path, checkpoints);
  }
  warn_of_incomplete(checkpoints);
  std::vector<fs::path> all = list_checkpoints(checkpoints);
  if (!all.empty() && resume.kind == ResumeChoice::Kind::Never) {
    throw DataError(fmt::format("{} holds checkpoints of an earlier run", checkpoints.string()),
                    "choose another run_dir, or remove that directory if it is no longer needed");
  }
  if (resume.kind == ResumeChoice::Kind::Must && !fs::exists(run / "run.json")) {
    throw DataError(fmt::format("{} is no run that has begun", run.string()),
                    "is a file system not mounted? --resume auto begins a run that is not there");
  }
  if (resume.kind != ResumeChoice::Kind::Never) require_all_there(run, all);
  std::ranges::reverse(all);
  return all;
}

}  // namespace

Resume::Resume(const JobConfig& job, const TrainingData& data, TrainingSetup& setup, const RunDirectory& directory,
               const RunEnd& end)
    : job_(job), data_(data), setup_(setup), directory_(directory), end_(end) {}

Beginning Resume::begin(const ResumeChoice& choice) {
  require_same_text();
  const std::vector<fs::path> all = candidates(choice);
  if (all.empty()) return start_from_scratch();
  std::vector<fs::path> passed_over;
  for (const fs::path& path : all) {
    try {
      Beginning beginning = restore(path);
      beginning.passed_over = std::move(passed_over);
      return beginning;
    } catch (const DamageError& error) {
      if (path == choice.path) throw;
      log_warning("{} is passed over: {}", path.string(), error.what());
      passed_over.push_back(path);
    }
  }
  throw DataError(
      fmt::format("none of the {} checkpoints in {} is intact", all.size(), directory_.checkpoints().string()),
      "restore one from a copy, or choose another run_dir to begin from scratch");
}

// Each node may have a copy of the dataset, and an old one somewhere: ranks that read different texts would take
// different batches, without a word, and of different validation texts each would compare its scores with others.
void Resume::require_same_text() const {
  require_same_text("training", data_.train.get());
  // Ranks that lack this split take part: others may have it.
  require_same_text("validation", data_.valid.get());
}

void Resume::require_same_text(const char* name, const Dataset* split) const {
  std::string mine;
  if (split) {
    for (const DatasetPart& part : split->parts()) mine += hash_hex(part.content) + ' ';
  }
  Communicator& world = directory_.world();
  const bool same = agree(world, [&] { return mine; }) == mine;
  const std::string other = first_text(world, same ? "" : fmt::format("rank {} ({})", world.rank(), host_name()));
  if (other.empty()) return;
  throw DataError(fmt::format("{} has another {} text on {} than on rank 0", job_.data.directory, name, other),
                  "copy one prepared dataset to every node, or set data.directory to one that all nodes share");
}

// Rank 0 decides for all ranks, since other ranks may see an older or newer state of the file system.
std::vector<fs::path> Resume::candidates(const ResumeChoice& choice) {
  const std::string found = agree(directory_.world(), [&] {
    std::string text;
    for (const fs::path& path : found_checkpoints(choice, directory_.path(), directory_.checkpoints()))
      text += path.string() + '\0';
    return text;
  });
  std::vector<fs::path> paths;
  for (size_t at = 0; at < found.size(); at += paths.back().string().size() + 1) paths.emplace_back(&found[at]);
  return paths;
}

// Every rank reads its own part. If any part is damaged, all ranks throw the same DamageError. What a rank cannot read
// now, or may not read, is not damaged.
void Resume::require_intact(const std::function<void()>& read) const {
  const int rank = directory_.world().rank();
  try {
    agree_each(directory_.world(), [&] {
      try {
        read();
      } catch (const IoError& error) {
        throw IoError(fmt::format("rank {} on {}: {}", rank, host_name(), error.what()), error.hint());
      } catch (const AccessError& error) {
        throw AccessError(fmt::format("rank {} on {}: {}", rank, host_name(), error.what()), error.hint());
      } catch (const DataError& error) {
        throw DataError(fmt::format("rank {}: {}", rank, error.what()));
      }
    });
  } catch (const IoError&) {
    throw;
  } catch (const AccessError&) {
    throw;
  } catch (const DataError& error) {
    throw DamageError(error.what(), "`weft inspect DIR --verify` lists what is damaged");
  }
}

Beginning Resume::start_from_scratch() {
  Beginning beginning;
  setup_.parameters().initialise(static_cast<uint64_t>(job_.seed));
  if (!job_.train.init_from.empty()) beginning.init_from = load_initial_weights();
  take_evaluation(beginning.state);
  beginning.state.run = agree(directory_.world(), new_run_id);
  return beginning;
}

std::function<void()> Resume::note_progress() const {
  return [&context = setup_.context()] { context.note_progress(); };
}

Beginning Resume::restore(const fs::path& path) {
  std::optional<Checkpoint> opened;
  require_intact([&] {
    opened = Checkpoint::open(path, directory_.world());
    if (directory_.world().rank() == 0) verify_attachments(path, opened->manifest());
  });
  const Checkpoint& checkpoint = *opened;
  const CheckpointManifest& manifest = checkpoint.manifest();
  const auto before = parse_stored_job(manifest.job, manifest_path(path).string());
  const ResumeChanges changes = resume_changes(before, job_);
  for (const auto& list : {changes.harmless, changes.allowed}) {
    for (const ConfigChange& change : list) {
      log_info("changed since the checkpoint: {}: {} -> {}", change.key, change.before, change.after);
    }
  }
  Beginning beginning{.state = run_state_of(manifest, path),
                      .checkpoint = path,
                      .digest = manifest.digest,
                      .branch_of = branch_of(manifest.provenance)};
  RunState& state = beginning.state;
  const std::string measured = take_evaluation(state);
  const auto is_setting = [](const ConfigChange& change) { return changes_evaluation(change.key); };
  if (!measured.empty() || std::ranges::any_of(changes.harmless, is_setting)) {
    log_info("the evaluation has changed{}: best score and patience are reset", measured);
    state.forget_best_scores();
  }
  if (manifest.provenance.is_object()) beginning.init_from = manifest.provenance.value("init_from", Json());
  if (end_.reached(state)) {  // nothing is trained, so a changed job does no harm
    if (!changes.refused.empty()) {
      log_warning("{} is done, and was trained with another job; to train this one, give it another name or run_dir:{}",
                  path.string(), list_changes(changes.refused));
    }
    const Communicator& world = directory_.world();
    require_intact([&] { verify_arrays(path, manifest, note_progress(), world.rank(), world.size()); });
    return beginning;
  }
  refuse_changes(changes.refused, path.string());
  check_dataset(checkpoint);
  take_algorithms(checkpoint);
  compare_numerics(checkpoint, before);
  const std::vector<TensorBox> boxes = local_boxes(setup_.parameters(), setup_.checkpoint_buffers());
  require_intact([&] { checkpoint.read(setup_.context(), boxes, note_progress(), &setup_.mesh()); });
  setup_.parameters().sync_compute_weights();
  state.position = position_now(before, state.position);
  log_info("resumed from {} at step {} of {}", path.string(), state.step, end_.max_steps);
  log_learning_rate_change(state, !changes.allowed.empty() || overrides(job_, "data.directory"));
  return beginning;
}

// A checkpoint of an earlier build does not say what was measured.
std::string Resume::take_evaluation(RunState& state) const {
  std::map<std::string, std::string> now = evaluation_identity(job_, data_.valid.get());
  if (now.empty()) return "";
  const Json before = std::exchange(state.evaluation, std::move(now));
  const std::string differences = before.empty() ? "" : fingerprint_differences(before, Json(state.evaluation));
  return differences.empty() ? "" : fmt::format(" ({})", differences);
}

// Called before anything is computed and before train.algorithms_file is read: the device then has the checkpoint's
// algorithms only, and fingerprints can be compared. Later measurements add to these and change none.
void Resume::take_algorithms(const Checkpoint& checkpoint) const {
  if (job_.train.algorithms != AlgorithmChoice::Measured) return;
  if (!has_attachment(checkpoint.manifest(), kAlgorithmsAttachment)) return;
  take_tuned(setup_.context(), read_attachment(checkpoint.path(), checkpoint.manifest(), kAlgorithmsAttachment),
             (checkpoint.path() / kAlgorithmsAttachment).string());
}

void Resume::compare_numerics(const Checkpoint& checkpoint, const JobConfig& before) const {
  const Json now = numerics_fingerprint(job_, setup_.mesh(), setup_.context());
  Json numerics = checkpoint.manifest().fingerprint;
  // Earlier versions stored neither key: heuristics have not changed since, and the job states micro_batch_tokens.
  if (!numerics.contains("heuristics") && now.contains("heuristics")) numerics["heuristics"] = now["heuristics"];
  const bool promised = job_.numerics == Numerics::SameBits;
  if (!promised && !numerics.contains("micro_batch_tokens")) {
    numerics["micro_batch_tokens"] = before.batch.micro_batch_tokens;
  }
  const std::string differences = fingerprint_differences(numerics, now);
  if (differences.empty()) return;
  if (promised && before.numerics == job_.numerics && !overrides(job_, "numerics")) {
    throw ConfigError(
        fmt::format("numerics: same_bits, and this start differs from {} ({}): it would have other bits",
                    checkpoint.path().string(), differences),
        "start it with what the checkpoint had, or let it continue within rounding: --set 'allow_changes=[numerics]'");
  }
  log_info("this run's numerics differ from the checkpoint's ({}): it continues within rounding, not bit for bit",
           differences);
}

// The weights were trained on ids of these tokenizers, and the position in the batch plan refers to this text.
void Resume::check_dataset(const Checkpoint& checkpoint) const {
  check_tokenizers(checkpoint, data_.train->header(), job_.data.directory);
  const Json& provenance = checkpoint.manifest().provenance;
  if (!provenance.is_object() || !provenance.contains("dataset")) return;
  const Json& stored = provenance["dataset"];
  if (!stored.is_object()) return;
  const std::vector<DatasetPart>& parts = data_.train->parts();
  check_text(checkpoint, "data.directory", parts[0], stored);
  const auto mixed = stored.find("mixture");
  if (mixed == stored.end() || !mixed->is_array()) return;
  for (size_t i = 0; i < mixed->size() && i + 1 < parts.size(); ++i) {
    check_text(checkpoint, "data.mixture", parts[i + 1], mixed->at(i));
  }
}

void Resume::check_text(const Checkpoint& checkpoint, const char* key, const DatasetPart& part,
                        const Json& stored) const {
  const std::string now = hash_hex(part.content);
  if (overrides(job_, key) || !stored.is_object() || stored.value("train", now) == now) return;
  throw ConfigError(
      fmt::format("{} holds another training text than the one that {} was trained on ({})", part.directory.string(),
                  checkpoint.path().string(), stored.value("directory", std::string("?"))),
      fmt::format("nothing was changed. To continue with the new text: --set 'allow_changes=[{0}]'. To continue with "
                  "the old one, set {0} back.",
                  key));
}

// With different batches an epoch has a different number of steps: the run continues after the same share of the epoch,
// which is the same text if the seed and the order of windows are the same.
Position Resume::position_now(const JobConfig& before, Position position) const {
  const auto plan = make_batch_plan(before.batch, *data_.train, static_cast<uint64_t>(before.seed));
  const int64_t then = plan->steps_per_epoch(position.epoch), now = data_.plan->steps_per_epoch(position.epoch);
  // A different text, if it is allowed, may be shorter.
  if (then == now) return data_.plan->normalised({position.epoch, std::min(now, position.step)});
  const Position moved{position.epoch, std::min(now, position.step * now / then)};
  log_info("epoch {} has {} steps, not {}: step {} of it becomes step {}", position.epoch, now, then, position.step,
           moved.step);
  return data_.plan->normalised(moved);
}

void Resume::log_learning_rate_change(const RunState& state, bool allowed) const {
  const double now = learning_rate(job_.schedule, state.step, end_.max_steps);
  if (!state.next_learning_rate || *state.next_learning_rate == now) return;
  const std::string text = fmt::format("the learning rate of the next step is {:.6g}; the checkpoint's job had {:.6g}",
                                       now, *state.next_learning_rate);
  if (allowed) return log_info("{}", text);
  log_warning("{}, though its settings are the same: another build, or another number of steps", text);
}

// Rank 0 finds the latest checkpoint of a run. Adapters keep their initial values.
Json Resume::load_initial_weights() {
  const fs::path path = agree(directory_.world(), [&] { return initial_checkpoint(job_.train.init_from).string(); });
  const Checkpoint checkpoint = Checkpoint::open(path, directory_.world());
  check_tokenizers(checkpoint, data_.train->header(), job_.data.directory);
  std::vector<TensorBox> boxes = master_boxes(setup_.parameters());
  std::erase_if(boxes, [](const TensorBox& box) { return is_adapter(box.name); });
  require_intact([&] { checkpoint.read(setup_.context(), boxes, note_progress(), &setup_.mesh()); });
  setup_.parameters().sync_compute_weights();
  log_info("weights from {}", path.string());
  const CheckpointManifest& manifest = checkpoint.manifest();
  return {{"path", job_.train.init_from},
          {"checkpoint", path.string()},
          {"run", run_state_of(manifest, path).run},
          {"step", manifest.step}};
}

}  // namespace weft
