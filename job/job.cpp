#include "job/job.h"

#include "base/config/reader.h"
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
  check_job(job);
  return job;
}

JobConfig job_with(JobConfig defaults, const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  ConfigValue tree;
  for (const std::string& text : overrides) apply_override(tree, text, problems);
  refuse_renamed_keys(renamed_job_keys(), tree, problems);
  return resolved(decode_config<JobConfig>(tree, std::move(problems), std::move(defaults)));
}

}  // namespace weft
