// SPDX-License-Identifier: Apache-2.0
#include "launch/job_options.h"

#include "job/named_jobs.h"

namespace weft {

void add_set_option(Command& command, std::vector<std::string>& overrides) {
  command.add_option("--set", overrides, "Change one field of the job: --set a.b=c (repeatable)")
      .type_name("KEY=VALUE");
}

Session session_of(const JobConfig& job, const std::optional<PhaseBudgets>& budgets) {
  return Session(job.parallel.replica(), budgets, job.device, job.parallel.shared_devices(), job.cpu_level,
                 job.threads);
}

void JobArguments::add_to(Command& command) {
  command.add_option("job", path, "Job file (YAML; docs/configuration.md)").required().type_name("JOB.yaml");
  add_set_option(command, overrides);
}

void NamedJobArguments::add_to(Command& command) {
  command.add_option("job", path, "Job file; its dataset need not be prepared").type_name("JOB.yaml");
  command.add_option("--model", model, "A named model instead of a job file (listed by weft bench --help)")
      .type_name("NAME");
  add_set_option(command, overrides);
}

JobConfig NamedJobArguments::load() const { return job_or_model(path, model, overrides); }

}  // namespace weft
