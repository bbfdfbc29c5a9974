// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"

namespace weft {

std::vector<KeptCheckpoint> superseded(const std::vector<KeptCheckpoint>& all, const RetentionRule& rule) {
  const int64_t keep = std::max<int64_t>(rule.keep_last, 1);
  int64_t latest = 0, epochs = 0;
  std::vector<KeptCheckpoint> gone;
  const auto healthy = std::ranges::find_if(all.rbegin(), all.rend(), &KeptCheckpoint::healthy);
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const bool kept_as_latest = latest++ < keep;
    const bool kept_as_epoch = at->epoch_end && epochs++ < rule.keep_epochs;
    const bool kept_as_best = rule.best_step == at->step;
    const bool kept_as_step = std::ranges::find(rule.keep_steps, at->step) != rule.keep_steps.end();
    const bool kept_as_healthy = at == healthy;
    if (!kept_as_latest && !kept_as_epoch && !kept_as_best && !kept_as_step && !kept_as_healthy) gone.push_back(*at);
  }
  return gone;
}

void apply_retention(const fs::path& directory, const RetentionRule& rule) {
  std::map<SaveOrder, KeptCheckpoint> in_order;
  for (const fs::path& path : committed_directories(directory)) {
    try {
      const CheckpointManifest manifest = read_checkpoint_manifest(path);
      const RunState state = run_state_of(manifest, path);
      in_order[save_order(manifest.sequence, path)] = {
          .step = manifest.step, .epoch_end = state.epoch_end, .healthy = state.skips_in_row == 0, .path = path};
    } catch (const DataError& error) {
      log_warning("{} is left alone: {}", path.string(), error.what());
    }
  }
  std::vector<KeptCheckpoint> all;
  for (auto& [order, checkpoint] : in_order) all.push_back(std::move(checkpoint));
  for (const KeptCheckpoint& old : superseded(all, rule)) {
    std::error_code error;
    const fs::path doomed = old.path.string() + std::string(kUnfinished);
    fs::rename(old.path, doomed, error);
    if (!error) fs::remove_all(doomed, error);
    if (error) log_warning("{} was not deleted: {}", old.path.string(), error.message());
  }
}

namespace {

// The final name of an unfinished directory: "step-7" for step-7.tmp, step-7.2.tmp and step-7.2.tmp.tmp; "" for any
// other directory.
std::string name_in_the_end(std::string name) {
  if (!name.ends_with(kUnfinished)) return "";
  while (name.ends_with(kUnfinished)) name.resize(name.size() - kUnfinished.size());
  const size_t dot = name.find('.');
  if (dot != std::string::npos && dot + 1 < name.size() &&
      name.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    name.resize(dot);
  }
  return is_step_name(name) ? name : "";
}

// True if a directory has a readable manifest and the files that it names. If it is unfinished, a kill came between the
// manifest and the rename. Throws if that cannot be read now (IoError), or may not be (AccessError).
bool is_complete(const fs::path& directory) {
  try {
    check_files(directory, read_checkpoint_manifest(directory));
    return true;
  } catch (const IoError&) {
    throw;
  } catch (const AccessError&) {
    throw;
  } catch (const DataError&) {
    return false;
  }
}

// Finishes the commit of a directory that is whole, and removes any other.
void clear(const fs::path& path) {
  const fs::path target = path.parent_path() / name_in_the_end(path.filename());
  const bool aside = path.stem().string().ends_with(kUnfinished);  // replaced by the checkpoint that has its name
  if (!aside && !fs::exists(target) && is_complete(path)) {
    fs::rename(path, target);
  } else {
    fs::remove_all(path);
  }
}

}  // namespace

void clear_unfinished(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!name_in_the_end(entry.path().filename()).empty()) left.push_back(entry.path());
  }
  std::ranges::sort(left);  // step-N.tmp before step-N.tmp.tmp
  for (const fs::path& path : left) {
    try {
      clear(path);
    } catch (const std::exception& failure) {
      log_warning("{} was not cleared: {}", path.string(), failure.what());
    }
  }
}

namespace {

constexpr std::string_view kBefore = ".before-", kDamaged = ".damaged-";

// A number, `attempt` or higher, that no checkpoint set aside for this reason in `directory` has: a run that rolls back
// twice in one attempt must not rename over the checkpoints that it set aside before.
int64_t set_aside_number(const fs::path& directory, std::string_view reason, int64_t attempt) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    const size_t at = name.rfind(reason);
    if (at == std::string::npos) continue;
    attempt = std::max<int64_t>(attempt, std::atoll(name.c_str() + at + reason.size()) + 1);
  }
  return attempt;
}

// Renames the checkpoints, newest first, to NAME.before-NUMBER. Returns their new paths.
std::vector<fs::path> set_aside(const fs::path& directory, const std::vector<fs::path>& checkpoints,
                                std::string_view reason, int64_t attempt) {
  if (checkpoints.empty()) return {};
  const int64_t number = set_aside_number(directory, reason, attempt);
  std::vector<fs::path> moved;
  for (const fs::path& path : checkpoints) {
    const fs::path target = fmt::format("{}{}{}", path.string(), reason, number);
    std::error_code error;
    fs::rename(path, target, error);
    if (error) {
      throw DataError(fmt::format("{} cannot be renamed to {}: {}", path.string(), target.string(), error.message()),
                      "the run resumes from an earlier checkpoint, so later ones must make way; move them by hand");
    }
    moved.push_back(target);
  }
  sync_directory(directory);
  return moved;
}

}  // namespace

bool lies_in(const fs::path& checkpoint, const fs::path& directory) {
  fs::path named = fs::absolute(checkpoint).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();  // "step-7/"
  std::error_code error;
  return fs::equivalent(named.parent_path(), directory, error) ||
         fs::equivalent(fs::weakly_canonical(checkpoint).parent_path(), directory, error);
}

std::vector<fs::path> set_aside_later(const fs::path& directory, const fs::path& checkpoint, int64_t attempt) {
  const std::vector<fs::path> all = list_checkpoints(directory);
  std::error_code error;
  auto later = all.begin();
  if (lies_in(checkpoint, directory)) {
    const auto key = [](const fs::path& path) {
      const CheckpointManifest manifest = read_checkpoint_manifest(path);
      return std::pair(manifest.sequence, manifest.step);
    };
    const auto chosen = key(checkpoint);
    later = std::ranges::find_if(all, [&](const fs::path& path) { return !is_complete(path) || key(path) > chosen; });
  }
  std::vector<fs::path> others(later, all.end());
  std::erase_if(others, [&](const fs::path& path) { return fs::equivalent(path, checkpoint, error); });
  std::ranges::reverse(others);
  return set_aside(directory, others, kBefore, attempt);
}

std::vector<fs::path> set_aside_damaged(const fs::path& directory, const std::vector<fs::path>& checkpoints,
                                        int64_t attempt) {
  return set_aside(directory, checkpoints, kDamaged, attempt);
}

}  // namespace weft
