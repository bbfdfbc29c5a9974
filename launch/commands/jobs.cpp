// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/jobs.h"

#include <algorithm>
#include <memory>

#include "base/output.h"
#include "launch/commands.h"
#include "launch/shipped/completion.h"

namespace weft {
namespace {

ExitCode list_jobs(const fs::path& configs) {
  const std::vector<ShippedJob> jobs = shipped_jobs(configs);
  size_t width = 0;
  for (const ShippedJob& job : jobs) width = std::max(width, job.name.size());
  std::string text;
  for (const ShippedJob& job : jobs) text += fmt::format("{:<{}}  {}\n", job.name, width, job.purpose);
  print(text);
  return ExitCode::Done;
}

}  // namespace

void add_jobs_command(Command& app, Action& action) {
  Command command =
      app.add_command("jobs", "List the jobs that come with weft, or print one to be copied.", Workers::OneProcess);
  command.footer(
      "  weft jobs\n"
      "  weft jobs sample-translation > job.yaml\n"
      "  weft prepare job.yaml\n"
      "A copy has the job's comments. It names what it extends and the sample corpus by absolute paths, so that it "
      "works in\n"
      "any folder; datasets and runs are made in the folder in which weft is started.");
  auto name = std::make_shared<std::string>();
  command.add_option("name", *name, "The job to print").type_name(kJobName);
  command.on_parsed([=, &action] {
    action = [=] {
      const fs::path configs = shipped_configs(fs::read_symlink("/proc/self/exe"));
      if (name->empty()) return list_jobs(configs);
      print(copy_of(find_shipped_job(configs, *name), configs));
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
