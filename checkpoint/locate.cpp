// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/locate.h"

#include "base/error.h"
#include "checkpoint/header.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"
#include "checkpoint/safetensors/safetensors.h"
#include "data/dataset/dataset.h"

namespace weft {
namespace {

// The directory that holds the checkpoints: the run's folder of checkpoints, or `path` itself.
fs::path folder_at(const fs::path& path) { return is_run_directory(path) ? checkpoints_folder(path) : path; }

// The end of a message that says what `path` is instead of a checkpoint; "" if that is unknown.
std::string_view other_kind(const fs::path& path) {
  if (!fs::exists(path)) return ": it does not exist";
  if (!fs::is_directory(path)) return ": it is a file";
  if (is_prepared(path)) return ": it is a dataset";
  if (has_safetensors(path)) return ": it is an exported model, which weft import-hf makes a checkpoint of";
  return "";
}

DataError no_checkpoint(const fs::path& path, std::string_view key) {
  return DataError(fmt::format("{}{}{}: no committed checkpoint here{}", key, key.empty() ? "" : ": ", path.string(),
                               other_kind(path)),
                   "give a run directory, one of its checkpoints/step-N, or an imported model");
}

}  // namespace

fs::path checkpoints_folder(const fs::path& run) { return run / "checkpoints"; }

bool is_run_directory(const fs::path& path) {
  return !has_manifest(path) && fs::is_directory(checkpoints_folder(path));
}

std::vector<fs::path> checkpoints_at(const fs::path& path) {
  if (has_manifest(path)) return {path};
  return list_checkpoints(folder_at(path));
}

fs::path newest_checkpoint(const fs::path& path, std::string_view key) {
  const std::vector<fs::path> all = checkpoints_at(path);
  if (all.empty()) throw no_checkpoint(path, key);
  return all.back();
}

fs::path resolve_checkpoint(const fs::path& path, bool best, const std::function<void()>& on_progress) {
  if (has_manifest(path)) return path;
  const fs::path folder = folder_at(path);
  const auto latest = latest_valid(folder, on_progress);
  if (!latest) throw no_checkpoint(path, "");
  if (!best) return latest->path();
  const RunState state = run_state_of(latest->manifest(), latest->path());
  require<DataError>(state.best_step >= 0, "{}: the run has not been evaluated, so no checkpoint is the best",
                     path.string());
  return checkpoint_path(folder, state.best_step);
}

}  // namespace weft
