// SPDX-License-Identifier: Apache-2.0
#include "job/migration.h"

#include "base/config/reader.h"
#include "job/renamed_keys.h"

namespace weft {
namespace {

// train.recompute was a switch for whole blocks before it had degrees.
void read_old_recompute(ConfigValue& job) {
  ConfigEntry* train = job.find("train");
  ConfigEntry* recompute = train ? train->value.find("recompute") : nullptr;
  if (!recompute || recompute->value.kind != ConfigValue::Kind::Boolean) return;
  recompute->value.kind = ConfigValue::Kind::Text;
  recompute->value.text = recompute->value.text == "true" ? "block" : "none";
}

// The keys that `allow_changes` lists were renamed too.
void rename_listed_keys(ConfigValue& job) {
  ConfigEntry* allowed = job.find("allow_changes");
  if (!allowed) return;
  for (ConfigValue& key : allowed->value.items) {
    if (auto now = renamed_key(renamed_job_keys(), key.text)) key.text = std::move(*now);
  }
}

}  // namespace

JobConfig parse_stored_job(const std::string& yaml, const std::string& where,
                           const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  ConfigValue job = parse_yaml(yaml, where, Layout::File, problems);
  rename_keys(renamed_job_keys(), job);
  rename_listed_keys(job);
  read_old_recompute(job);
  for (const std::string& override_text : overrides) apply_override(job, override_text, problems);
  refuse_renamed_keys(renamed_job_keys(), job, problems);
  return resolved(decode_config<JobConfig>(job, std::move(problems)));
}

}  // namespace weft
