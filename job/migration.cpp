// SPDX-License-Identifier: Apache-2.0
#include "job/migration.h"

#include "base/config/reader.h"
#include "base/config/writer.h"
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

// evaluation.translation was for BLEU alone and had two fields of BLEU, whose defaults have not changed since.
void read_old_bleu_fields(ConfigValue& job) {
  ConfigEntry* evaluation = job.find("evaluation");
  ConfigEntry* translation = evaluation ? evaluation->value.find("translation") : nullptr;
  if (!translation) return;
  ConfigValue settings{.kind = ConfigValue::Kind::List};
  std::erase_if(translation->value.entries, [&](const ConfigEntry& entry) {
    if (entry.key != "tokenizer" && entry.key != "lowercase") return false;
    const bool is_default = entry.value.text == "13a" || entry.value.text == "false";
    if (!is_default) settings.items.push_back(scalar_value(entry.key + "=" + entry.value.text));
    return true;
  });
  if (!settings.items.empty()) translation->value.entries.push_back({.key = "settings", .value = std::move(settings)});
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
  read_old_bleu_fields(job);
  for (const std::string& override_text : overrides) apply_override(job, override_text, problems);
  refuse_renamed_keys(renamed_job_keys(), job, problems);
  return resolved(decode_config<JobConfig>(job, std::move(problems)));
}

}  // namespace weft
