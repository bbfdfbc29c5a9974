// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <algorithm>

#include "base/config/reader.h"
#include "base/error.h"
#include "job/initial_model.h"
#include "job/renamed_keys.h"

namespace weft {

JobConfig resolved(JobConfig job) {
  if (!job.is_translation() && job.batch.context_length == 0) job.batch.context_length = job.model.max_length;
  return job;
}

JobConfig load_job_of_text(const std::string& path, const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  ConfigValue tree = load_config_tree(path, overrides, problems);
  refuse_renamed_keys(renamed_job_keys(), tree, problems);
  JobConfig job = decode_config<JobConfig>(tree, std::move(problems));
  if (!job.train.init_from.empty()) job = with_initial_model(job, tree);
  return resolved(std::move(job));
}

JobConfig load_job(const std::string& path, const std::vector<std::string>& overrides) {
  JobConfig job = load_job_of_text(path, overrides);
  std::string text;
  for (const std::string& problem : job_problems(job)) {
    if (!text.empty()) text += '\n';
    text += place_of_key(problem.substr(0, problem.find(':')), path, overrides);
    text += problem;
  }
  if (!text.empty()) throw ConfigError(text);
  return job;
}

std::string place_of_key(std::string_view key, const std::string& path, const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  const ConfigValue tree = load_config_tree(path, overrides, problems);
  const ConfigValue* at = &tree;
  std::string place;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    const ConfigEntry* entry = at->find(key.substr(begin, end - begin));
    if (entry == nullptr) break;
    place = entry->location.text() + ": ";
    at = &entry->value;
    begin = end + 1;
  }
  return place;
}

JobConfig job_with(JobConfig defaults, const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  ConfigValue tree;
  for (const std::string& text : overrides) apply_override(tree, text, problems);
  refuse_renamed_keys(renamed_job_keys(), tree, problems);
  return resolved(decode_config<JobConfig>(tree, std::move(problems), std::move(defaults)));
}

}  // namespace weft
