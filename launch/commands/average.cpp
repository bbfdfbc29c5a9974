// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/average.h"

#include "base/log.h"
#include "launch/commands.h"

namespace weft {

void add_average_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "average", "Write a checkpoint whose weights are the mean of several of one run (to be evaluated, not resumed).");
  command->footer(
      "  weft average runs/NAME --last-epochs 10 --out runs/mean\n"
      "  weft average runs/NAME/checkpoints/step-* --out runs/mean\n"
      "The job says which checkpoints stay: checkpoint.keep_last, checkpoint.keep_epochs.");
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  auto last = std::make_shared<int64_t>(0);
  command->add_option("checkpoints", *inputs, "Checkpoints, or one run directory")->required();
  command->add_option("--out", *output, "The checkpoint directory to write; it must not exist")->required();
  command->add_option("--last-epochs", *last, "Of a run directory, the last so many checkpoints of an epoch's end");
  command->callback([=, &action] {
    action = [=] {
      const std::vector<fs::path> paths = checkpoints_to_average({inputs->begin(), inputs->end()}, *last);
      average_checkpoints(paths, *output);
      log_info("{}: the mean of {} checkpoints, {} to {}", *output, paths.size(), paths.front().string(),
               paths.back().string());
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
