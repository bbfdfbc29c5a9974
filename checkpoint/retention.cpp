#include "checkpoint/retention.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/reader.h"

namespace weft {

std::vector<KeptCheckpoint> superseded(const std::vector<KeptCheckpoint>& all, const RetentionRule& rule) {
  const int64_t keep = std::max<int64_t>(rule.keep, 1);
  int64_t latest = 0, epochs = 0;
  std::vector<KeptCheckpoint> gone;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const bool kept_as_latest = latest++ < keep;
    const bool kept_as_epoch = at->epoch_end && epochs++ < rule.keep_epochs;
    const bool kept_as_best = rule.best_step == at->step;
    if (!kept_as_latest && !kept_as_epoch && !kept_as_best) gone.push_back(*at);
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
    const fs::path doomed = old.path.string() + ".tmp";
    fs::rename(old.path, doomed, error);
    if (!error) fs::remove_all(doomed, error);
    if (error) log_warning("{} was not deleted: {}", old.path.string(), error.message());
  }
}

}  // namespace weft
