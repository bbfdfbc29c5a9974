// SPDX-License-Identifier: Apache-2.0
#include "trainer/verification.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "checkpoint/digest/state_digest.h"
#include "checkpoint/digest/tensor_differences.h"
#include "checkpoint/parameters.h"
#include "parallel/agree.h"
#include "trainer/run/provenance.h"
#include "trainer/run/recorded_saves.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostNamed = 20;  // tensors that are named; there may be hundreds

std::optional<int64_t> step_in(const std::string& text) {
  int64_t step = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, step);
  return error == std::errc() && last == end && step >= 0 ? std::optional(step) : std::nullopt;
}

std::string steps_text(const std::vector<RecordedSave>& saves, bool there) {
  std::vector<int64_t> steps;
  for (const RecordedSave& save : saves) {
    if (save.checkpoint || !there) steps.push_back(save.step);
  }
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "));
}

// The save at which the segment begins; step 0 without a checkpoint: from scratch.
RecordedSave beginning_of(const Segment& segment, const std::vector<RecordedSave>& saves) {
  const auto oldest = std::ranges::find_if(saves, [](const RecordedSave& save) { return save.checkpoint.has_value(); });
  if (segment.from.empty()) return oldest == saves.end() ? RecordedSave{} : *oldest;
  const std::optional<int64_t> step = step_in(segment.from);
  if (!step) {
    const CheckpointManifest manifest = read_checkpoint_manifest(segment.from);
    return {.step = manifest.step, .digest = manifest.digest, .checkpoint = segment.from, .fingerprint = {}};
  }
  if (*step == 0) return {};
  const auto found = std::ranges::find_if(saves, [&](const RecordedSave& save) { return save.step == *step; });
  if (found != saves.end() && found->checkpoint) return *found;
  throw DataError(fmt::format("there is no checkpoint of step {}", *step),
                  fmt::format("checkpoints that are there: {}; --from 0 begins from scratch", steps_text(saves, true)));
}

// Bits depend on everything that the fingerprint names (docs/determinism.md). The algorithms that a device has measured
// are left out: this start takes them from the checkpoint and the run's file.
void require_same_numerics(const RecordedSave& save, const Json& fingerprint, const fs::path& run) {
  Json then = save.fingerprint, now = fingerprint;
  for (Json* each : {&then, &now}) each->erase("algorithms");
  const std::string differences = fingerprint_differences(then, now);
  if (differences.empty()) return;
  int64_t ranks = 1;
  for (const GridAxis& grid : kGridAxes) ranks *= integer_or<int64_t>(then, std::string(name(grid.axis)).c_str(), 1);
  throw ConfigError(
      fmt::format("{}: step {} was trained with other numerics ({}), so its digest cannot be expected", run.string(),
                  save.step, differences),
      fmt::format("start it as the run was, with the same weft on such a machine: OMP_NUM_THREADS={} mpirun -np {} "
                  "--bind-to none weft verify {}",
                  integer_or<int64_t>(then, "threads", 1), ranks, run.string()));
}

// The save at which a segment begins, then those to compare with.
std::vector<RecordedSave> chosen(const Segment& segment, const fs::path& run, const Json& fingerprint) {
  const std::vector<RecordedSave> all = recorded_saves(run);
  std::vector<RecordedSave> found = {beginning_of(segment, all)};
  const int64_t begin = found[0].step;
  for (const RecordedSave& save : all) {
    if (save.step > begin && (!segment.to || save.step <= *segment.to) && save.digest) found.push_back(save);
  }
  if (found.size() == 1) {
    throw ConfigError(
        fmt::format("{}: no digest was saved after step {}{}", run.string(), begin,
                    segment.to ? fmt::format(" and up to step {}", *segment.to) : ""),
        fmt::format("saves of the run: {}; those of earlier builds have no digest", steps_text(all, false)));
  }
  const int64_t end = found.back().step;
  if (const auto step = rollback_between(run, begin, end)) {
    throw ConfigError(
        fmt::format("{}: the run rolled back to step {} and continued with other data, which a segment from "
                    "step {} to {} does not repeat",
                    run.string(), *step, begin, end),
        fmt::format("give --to {0}, or --from a step that was saved after step {0}", *step));
  }
  // What a save's fingerprint names trained the steps before it.
  for (size_t i = 1; i < found.size(); ++i) {
    if (found[i].checkpoint) require_same_numerics(found[i], fingerprint, run);
  }
  return found;
}

// Rank 0 sends what other ranks need of the saves: they may see an older or newer state of a run that still trains.
std::string packed_saves(const std::vector<RecordedSave>& saves) {
  Json all = Json::array();
  for (const RecordedSave& save : saves) {
    all.push_back({{"step", save.step},
                   {"digest", save.digest ? Json(hash_hex(*save.digest)) : Json()},
                   {"checkpoint", save.checkpoint ? Json(save.checkpoint->string()) : Json()}});
  }
  return all.dump();
}

std::vector<RecordedSave> unpacked_saves(const std::string& text) {
  std::vector<RecordedSave> saves;
  for (const Json& save : parse_json<Json>(text, "the saves")) {
    RecordedSave& each = saves.emplace_back(RecordedSave{.step = save["step"].get<int64_t>()});
    if (!save["digest"].is_null()) each.digest = hash_from(save["digest"]);
    if (!save["checkpoint"].is_null()) each.checkpoint = save["checkpoint"].get<std::string>();
  }
  return saves;
}

// Compares the states of a trainer with what was saved, save by save.
class Verification {
 public:
  Verification(Context& context, Communicator& world, std::vector<RecordedSave> saves)
      : context_(context), world_(world), saves_(std::move(saves)) {}

  ResumeChoice beginning() const {
    if (!saves_[0].checkpoint) return {.kind = ResumeChoice::Kind::Scratch};
    return {.kind = ResumeChoice::Kind::Exactly, .path = *saves_[0].checkpoint};
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> steps;
    for (const RecordedSave& save : saves_) steps.push_back(save.step);
    return steps;
  }
  bool differs() const { return differs_; }

  // Whether the state is the one that was saved at its step. Collective.
  bool look(const RunState& state, TrainingSetup& setup) {
    const RecordedSave& save = saves_[next_++];
    if (!save.digest) return true;  // The beginning may have none.
    setup.parameters().finish_weight_gather();
    const std::vector<OwnedArray> owned = owned_arrays(setup.parameters(), setup.checkpoint_buffers());
    const uint64_t arrays = sum_of_digests(world_, digest_of(context_, owned));
    const uint64_t found = arrays + digest_of(state);
    differs_ = found != *save.digest;
    if (!differs_) {
      tell(fmt::format("step {}: {}, as saved\n", save.step, hash_hex(found)));
    } else if (next_ == 1) {
      tell(fmt::format("step {}: {} holds the digest {}, but {} was saved\n", save.step, save.checkpoint->string(),
                       hash_hex(found), hash_hex(*save.digest)));
    } else {
      tell(fmt::format("step {}: {}, but {} was saved\n", save.step, hash_hex(found), hash_hex(*save.digest)));
      if (save.checkpoint) tell_differences(*save.checkpoint, state, owned);
    }
    return !differs_;
  }

 private:
  void tell(const std::string& text) const {
    if (world_.rank() == 0) print(text);
  }

  // The checkpoint may have been removed since the digests were read: then there is nothing to compare with.
  void tell_differences(const fs::path& path, const RunState& state, const std::vector<OwnedArray>& owned) const {
    try {
      const Checkpoint checkpoint = Checkpoint::open(path, world_);
      std::vector<TensorDifference> mine;
      agree_each(world_,
                 [&] { mine = differences_from(checkpoint, context_, owned, [this] { context_.note_progress(); }); });
      const std::vector<TensorDifference> all = differences_of_all(world_, mine);
      std::string text;
      for (const TensorDifference& d : std::span(all).first(std::min(all.size(), kMostNamed))) {
        text += fmt::format("  {} of {}: {} differ, the first at {}\n", d.buffer, d.name,
                            d.elements == 1 ? "1 element" : fmt::format("{} elements", d.elements), d.first);
      }
      if (all.size() > kMostNamed) text += fmt::format("  and {} tensors more\n", all.size() - kMostNamed);
      if (digest_of(state) != digest_of(run_state_of(checkpoint.manifest(), path))) {
        text += "  the position or the counters of the run differ\n";
      }
      tell(text);
    } catch (const DataError& error) {
      log_warning("{} was not compared: {}", path.string(), error.what());
    }
  }

  Context& context_;
  Communicator& world_;
  std::vector<RecordedSave> saves_;  // the beginning, and the saves to compare with
  size_t next_ = 0;
  bool differs_ = false;
};

}  // namespace

ExitCode verify_run(Context& context, Mesh& mesh, const JobConfig& job, const Segment& segment) {
  Communicator& world = mesh.world();
  const fs::path run = job.run_directory();
  Verification verification(context, world, unpacked_saves(agree(world, [&] {
                              return packed_saves(chosen(segment, run, numerics_fingerprint(job, mesh, context)));
                            })));
  Trainer trainer(context, mesh, job);
  trainer.repeat(
      {.from = verification.beginning(),
       .steps = verification.steps(),
       .look = [&](const RunState& state, TrainingSetup& setup) { return verification.look(state, setup); }});
  if (verification.differs()) return ExitCode::Differs;
  const std::vector<int64_t> steps = verification.steps();
  log_info("{}: steps {} to {} were trained again, and every save is the same", run.string(), steps.front(),
           steps.back());
  return ExitCode::Done;
}

}  // namespace weft
