// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/recorded_saves.h"

#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/locate.h"
#include "checkpoint/reader.h"
#include "trainer/run/logs/metrics.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

void add_checkpoint(const fs::path& path, std::map<int64_t, RecordedSave>& saves) {
  const CheckpointManifest manifest = read_checkpoint_manifest(path);
  RecordedSave& save = saves[manifest.step];
  if (save.digest && manifest.digest && *save.digest != *manifest.digest) {
    throw DataError(fmt::format("{} has the digest {}, but metrics.jsonl says that {} was saved at step {}",
                                path.string(), hash_hex(*manifest.digest), hash_hex(*save.digest), manifest.step),
                    "one of the two was changed after the run: restore it from a copy");
  }
  save.step = manifest.step;
  if (manifest.digest) save.digest = manifest.digest;
  save.checkpoint = path;
  save.fingerprint = manifest.fingerprint;
}

}  // namespace

std::vector<RecordedSave> recorded_saves(const fs::path& run) {
  std::map<int64_t, RecordedSave> saves;
  for (const Json& line : read_metrics(run, "save")) {
    const auto step = line.at("step").get<int64_t>();
    RecordedSave& save = saves[step] = {.step = step};
    if (line.contains("digest")) save.digest = hash_from(line["digest"]);
  }
  for (const fs::path& path : committed_directories(checkpoints_folder(run))) add_checkpoint(path, saves);
  std::vector<RecordedSave> all;
  for (auto& [step, save] : saves) all.push_back(std::move(save));
  return all;
}

std::optional<int64_t> rollback_between(const fs::path& run, int64_t begin, int64_t end) {
  std::optional<int64_t> last;
  for (const Json& line : read_metrics(run, "roll_back")) {
    const auto step = line.at("step").get<int64_t>();
    if (begin <= step && step < end) last = step;
  }
  return last;
}

}  // namespace weft
