// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"
#include "job/job.h"
#include "launch/command_line/help.h"
#include "launch/commands.h"

namespace weft {
namespace {

// Whether `key` is `wanted` or lies in the section `wanted`.
bool lies_in(const std::string& key, const std::string& wanted) {
  return wanted.empty() || key == wanted || key.starts_with(wanted + ".") || key.starts_with(wanted + "[].");
}

ExitCode print_keys(const std::string& wanted) {
  std::vector<ConfigDoc> chosen;
  for (ConfigDoc& doc : config_docs<JobConfig>()) {
    if (!lies_in(doc.key, wanted)) continue;
    if (!doc.section && doc.affects == Affects::Training) {
      doc.meaning += " On resume, another value must be allowed (allow_changes).";
    }
    chosen.push_back(std::move(doc));
  }
  if (chosen.empty()) {
    const std::string nearest = nearest_name(wanted, config_keys<JobConfig>());
    throw ConfigError(fmt::format("a job has no key or section '{}'", wanted),
                      nearest.empty() ? "weft keys lists them all" : fmt::format("did you mean '{}'?", nearest));
  }
  print(fields_text(chosen));
  return ExitCode::Done;
}

}  // namespace

void add_keys_command(Command& app, Action& action) {
  Command command =
      app.add_command("keys", "List the keys of a job: default, allowed values, meaning.", Workers::OneProcess);
  auto wanted = std::make_shared<std::string>();
  command.add_option("key", *wanted, "Only this section or key: weft keys model.dropout").type_name("KEY");
  command.on_parsed([=, &action] { action = [=] { return print_keys(*wanted); }; });
}

}  // namespace weft
