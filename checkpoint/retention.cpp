#include "checkpoint/retention.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/reader.h"

namespace weft {

std::vector<KeptCheckpoint> superseded(const std::vector<KeptCheckpoint>& all, const RetentionRule& rule) {
  const int64_t keep = std::max<int64_t>(rule.keep_last, 1);
  int64_t latest = 0, epochs = 0;
  std::vector<KeptCheckpoint> gone;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const bool kept_as_latest = latest++ < keep;
    const bool kept_as_epoch = at->epoch_end && epochs++ < rule.keep_epochs;
    const bool kept_as_best = rule.best_step == at->step;
    const bool kept_as_step = std::ranges::find(rule.keep_steps, at->step) != rule.keep_steps.end();
    if (!kept_as_latest && !kept_as_epoch && !kept_as_best && !kept_as_step) gone.push_back(*at);
  }
  return gone;
}

void apply_retention(const fs::path& directory, const RetentionRule& rule) {
  std::vector<KeptCheckpoint> all;
  for (const fs::path& path : list_checkpoints(directory)) {
    try {
      const CheckpointManifest manifest = read_checkpoint_manifest(path);
      all.push_back({manifest.step, manifest.state.value("epoch_end", false), path});
    } catch (const DataError& error) {
      log_warning("{} is left alone: {}", path.string(), error.what());
    }
  }
  for (const KeptCheckpoint& old : superseded(all, rule)) {
    std::error_code error;
    const fs::path doomed = old.path.string() + std::string(kUnfinished);
    fs::rename(old.path, doomed, error);
    if (!error) fs::remove_all(doomed, error);
    if (error) log_warning("{} was not deleted: {}", old.path.string(), error.message());
  }
}

namespace {

// Committed but for its name: a kill came between the manifest and the rename.
bool is_complete(const fs::path& directory) {
  try {
    read_checkpoint_manifest(directory);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

void clear_unfinished(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename();
    const bool unfinished = name.ends_with(kUnfinished);
    while (name.ends_with(kUnfinished)) name.resize(name.size() - kUnfinished.size());
    if (unfinished && is_step_name(name)) left.push_back(entry.path());
  }
  std::ranges::sort(left);  // step-N.tmp before step-N.tmp.tmp
  for (const fs::path& path : left) {
    const fs::path target = path.parent_path() / path.stem();
    if (is_step_name(target.filename().string()) && !fs::exists(target) && is_complete(path)) {
      fs::rename(path, target, error);
    } else {
      fs::remove_all(path, error);
    }
    if (error) log_warning("{} was left as it is: {}", path.string(), error.message());
  }
}

}  // namespace weft
