// SPDX-License-Identifier: Apache-2.0
#include "job/changes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace weft {
namespace {

// Whether `key` is `section` or lies within it.
bool within(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

// Returns `job` with the directories of the mixture in `now`: the contents of datasets are compared, as those of
// data.directory are (Resume), and not their paths. Without a mixture, the weight of the only dataset means nothing.
JobConfig with_directories_of(const JobConfig& now, JobConfig job) {
  auto& mixture = job.data.mixture;
  if (mixture.size() != now.data.mixture.size()) return job;
  if (mixture.empty()) job.data.weight = now.data.weight;
  for (size_t i = 0; i < mixture.size(); ++i) mixture[i].directory = now.data.mixture[i].directory;
  return job;
}

}  // namespace

Affects affected_by(const std::string& key) {
  for (const ConfigDoc& doc : config_docs<JobConfig>()) {
    if (doc.key == key) return doc.affects;
  }
  return Affects::Training;
}

bool changes_training(const std::string& key) { return affected_by(key) == Affects::Training; }
bool changes_evaluation(const std::string& key) { return affected_by(key) == Affects::Evaluation; }

bool overrides(const JobConfig& job, const std::string& key) {
  return std::ranges::any_of(job.allow_changes, [&](const std::string& section) { return within(key, section); });
}

ResumeChanges resume_changes(const JobConfig& checkpoint, const JobConfig& now) {
  ResumeChanges changes;
  for (ConfigChange& change : config_changes(with_directories_of(now, checkpoint), now)) {
    if (change.key == "allow_changes") continue;
    auto& kind = !changes_training(change.key) ? changes.harmless
                 : overrides(now, change.key)  ? changes.allowed
                                               : changes.refused;
    kind.push_back(std::move(change));
  }
  return changes;
}

std::string list_changes(const std::vector<ConfigChange>& changes) {
  std::string text;
  for (const ConfigChange& change : changes) {
    text += fmt::format("\n  {}: {} -> {}", change.key, change.before, change.after);
  }
  return text;
}

void refuse_changes(const std::vector<ConfigChange>& refused, const std::string& checkpoint) {
  if (refused.empty()) return;
  std::vector<std::string> keys, back;
  for (const ConfigChange& change : refused) {
    keys.push_back(change.key);
    back.push_back(fmt::format("--set '{}={}'", change.key, change.before));
  }
  throw ConfigError(fmt::format("{} was trained with another job:{}", checkpoint, list_changes(refused)),
                    fmt::format("nothing was changed. To resume with the new values: --set 'allow_changes=[{}]' (or "
                                "allow_changes: in the job). To resume with the old ones: {}. To train from scratch, "
                                "give another run_dir.",
                                fmt::join(keys, ", "), fmt::join(back, " ")));
}

}  // namespace weft
